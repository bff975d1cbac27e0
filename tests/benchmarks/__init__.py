"""Commands that print figures: `python3 -m tests.benchmarks` runs all of them.

No test depends on a time.
"""
