"""Tests of fetching models."""
