"""Measures readers on questions with known answers: tasks, runs, metrics and tables."""
