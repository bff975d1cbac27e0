"""Tests of `gistread.marking`."""
