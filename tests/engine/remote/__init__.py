"""Tests of models on servers."""
