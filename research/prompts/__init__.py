"""Prompts of the research, a text file each; as `gistread.prompts`, with one wording."""

import hashlib
from functools import cache
from pathlib import Path

from gistread.prompts import PromptTemplate


@cache
def load(name: str) -> PromptTemplate:
    file = Path(__file__).with_name(f"{name}.txt")
    return PromptTemplate(name, file.read_text(encoding="utf-8").strip())


def version(*names: str) -> str:
    """A hash of these prompts."""
    texts = "".join(f"{name}\0{load(name).text}\0" for name in names)
    return hashlib.sha256(texts.encode()).hexdigest()[:12]
