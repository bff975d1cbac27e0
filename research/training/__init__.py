"""Trains the adapter of the starter model."""
