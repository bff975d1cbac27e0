"""Tests of `research.training`."""
