"""Tests of `gistread.book`."""
