"""Tests of the presets."""
