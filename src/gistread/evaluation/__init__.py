"""Readers measured on questions whose answers are known: tasks, runs, figures, tables (design, section 3)."""
