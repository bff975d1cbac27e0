"""Rules of readable code, held by the suite and listed by `python -m tests.readability`.

Ruff holds the length of lines and the complexity of functions; these rules hold the rest. What a
room (a package of `gistread`, `research` or `tests`) still breaks is counted in `allowed.toml`; the
counts may only fall, and a room without counts breaks nothing.
"""
