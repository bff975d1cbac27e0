"""Tests, one folder a room of the program; beside them what several of them need."""
