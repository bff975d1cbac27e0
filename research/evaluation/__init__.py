"""Measures readers on questions with known answers.

Tasks, runs, metrics, tables (design, section 3).
"""
