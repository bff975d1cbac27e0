"""The steps of readers as lines that can be followed: one module for each kind of reader."""
