"""A question with options: how it is put, and what may be answered.

The options stand under the question as lettered lines, from the first step of a reader to the last, as in ReadAgent's
prompts (appendix E). The answer is one of the letters and nothing else (design D3).
"""

import string
from collections.abc import Sequence

from gistread.errors import UsageError

LETTERS = string.ascii_uppercase


def with_options(question: str, choices: Sequence[str]) -> str:
    """The question in one line, each option in one more. Raises UsageError for options that are none."""
    lines = [" ".join(question.split())]
    options = [" ".join(choice.split()) for choice in choices]
    if options and not (2 <= len(options) <= len(LETTERS) and all(options) and len(set(options)) == len(options)):
        raise UsageError(
            f"These are no options to choose from: {'; '.join(options)}.",
            f"Between 2 and {len(LETTERS)} are needed, no two the same, none empty.",
        )
    lines += [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]
    return "\n".join(lines)


def without_options(question: str) -> str:
    """The question as it was put, without its options: what nobody claims is no evidence of anything."""
    return question.partition("\n")[0]
