"""Evaluation: tasks, metrics, statistics."""
