"""Tests of `gistread.search`."""
