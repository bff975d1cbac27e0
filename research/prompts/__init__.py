"""Prompts of the research, a text file each; as `gistread.prompts`, with one wording."""

import hashlib
from functools import cache
from pathlib import Path

from gistread.prompts import PromptTemplate


@cache
def load(name: str) -> PromptTemplate:
    return PromptTemplate(
        name,
        Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").strip(),
    )


def version(*names: str) -> str:
    """A hash of these prompts."""
    texts = (f"{name}\0{load(name).text}\0" for name in names)
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:12]
