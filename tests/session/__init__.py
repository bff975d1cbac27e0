"""Tests of `gistread.session`."""
