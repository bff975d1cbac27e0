"""Tests of acting on web pages."""
