"""The sample story "The Ferry Bell" (CC0 1.0)."""

from pathlib import Path


def story_path() -> Path:
    """Path of the story: UTF-8 text, one line a paragraph."""
    return Path(__file__).with_name("story.txt")
