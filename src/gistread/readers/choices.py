"""Multiple-choice questions: lettered lines (ReadAgent, Appendix E), one of which is the answer (design D3)."""

import string
from collections.abc import Sequence

from gistread.errors import UsageError

LETTERS = string.ascii_uppercase


def with_options(question: str, choices: Sequence[str]) -> str:
    """The question on one line, followed by each option on its own. Raises UsageError for invalid options."""
    lines = [" ".join(question.split())]
    options = [" ".join(choice.split()) for choice in choices]
    if options and not (2 <= len(options) <= len(LETTERS) and all(options) and len(set(options)) == len(options)):
        raise UsageError(
            "--choice needs at least two different options.", f"Give 2 to {len(LETTERS)}, none of them empty."
        )
    lines += [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return "\n".join(lines)


def as_sentence(option: str) -> str:
    """An option as a model would write it as its answer."""
    return option[:1].upper() + option[1:] + ("" if option.endswith((".", "!", "?")) else ".")


def without_options(question: str) -> str:
    """Remove the options from a question, and the earlier questions before it (`thread.py`)."""
    return question.rpartition("\nQuestion: ")[2].partition("\n")[0]
