"""Tests of `gistread.people`."""
