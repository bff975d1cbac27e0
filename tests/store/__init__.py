"""Tests of `gistread.store`."""
