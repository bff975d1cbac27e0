"""Tests of `gistread.sample`."""
