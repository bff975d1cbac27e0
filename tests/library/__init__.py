"""Tests of `gistread.library`."""
