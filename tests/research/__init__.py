"""Tests of `research`."""
