"""Measures readers on questions with known answers: tasks, runs, metrics, tables (design, section 3)."""
