"""Tests that nothing speaks to the network unasked."""
