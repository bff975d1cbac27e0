"""A scripted reader who answers about a whole story, only from what is in front of them.

It reads as a capable model does: it says of each prompt which pieces of the answer it tells, and
asks for the missing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

_NUMBERED = re.compile(r"^(\d+)\. (.*)", re.MULTILINE)
_PAGE = re.compile(r"\(Page (\d+)\)\n(.*)")


class WholeStoryReader:
    """`pieces`: each statement of the answer, with words of the text that tell it."""

    def __init__(
        self, pieces: Mapping[str, Sequence[str]], facts: Mapping[str, str]
    ) -> None:
        """`facts`: the reply to an extraction, by words of its page."""
        self._pieces = pieces
        self._facts = facts

    def statements_in(self, text: str) -> list[str]:
        """The statements that a text tells, in the words of the book or in the reader's own."""
        return [
            statement
            for statement, signs in self._pieces.items()
            if any(sign in text for sign in (statement, *signs))
        ]

    def says(self, prompt: str) -> str:
        text, _, task = prompt.rpartition("\n---\n")
        notes = ""
        if "Notes so far:" in text:
            notes, _, text = text.partition("\n---\n")
        if "atomic facts" in task:
            return "".join(
                reply for words, reply in self._facts.items() if words in text
            )
        if "Write a plan" in prompt:
            return "Find how it begins, what happens, and how it ends."
        known = (
            task.partition("What you know")[2]
            or notes
            or task.partition("Notebook:")[2]
        )
        if "Nothing new" in task or "in JSON" in task:
            new = [
                statement
                for statement in self.statements_in(text)
                if statement not in known
            ]
            return self._tell(new) or "Nothing new."
        return (
            self._tell(self.statements_in(f"{text}\n{known}"))
            or "The book does not say."
        )

    @staticmethod
    def _tell(statements: Iterable[str]) -> str:
        return " ".join(f"{statement}." for statement in statements)

    def chooses(self, prompt: str, options: Sequence[str]) -> str:
        text, _, task = prompt.rpartition("\n---\n")
        known = task.partition("What you know")[2] or task.partition("Notebook:")[2]
        missing = [
            piece for piece in self._pieces if piece not in self.statements_in(known)
        ]
        new = [
            statement for statement in self.statements_in(text) if statement in missing
        ]
        match options:
            case ["yes", "part", "no"]:
                return self._how_much(new, missing)
            case ["yes", "no"]:
                return "yes" if new else "no"
            case ["ANSWER", "ASK"]:
                return "ANSWER"
            case [*_, "enough"]:
                return "next page" if "next page" in options and missing else "enough"
            case [*_, "none"]:
                return "none"  # No two reports contradict each other.
        return self._part_to_read(text, missing, options)

    def _part_to_read(
        self, text: str, missing: Sequence[str], options: Sequence[str]
    ) -> str:
        if _PAGE.search(text):
            return self._page_to_open(text, options)
        if "ANSWER" in options and not missing:
            return "ANSWER"
        return self._helpful(text, missing, options)

    @staticmethod
    def _how_much(new: Sequence[str], missing: Sequence[str]) -> str:
        if set(new) == set(missing):
            return "yes"
        return "part" if new else "no"

    def _page_to_open(self, text: str, options: Sequence[str]) -> str:
        """One whose gist tells what no page in full does."""
        in_full = " ".join(self.statements_in(re.sub(_PAGE, "", text)))
        shut = [
            f"Page {number}"
            for number, gist in _PAGE.findall(text)
            if any(statement not in in_full for statement in self.statements_in(gist))
        ]
        return next((page for page in shut if page in options), "STOP")

    def _helpful(
        self, text: str, missing: Sequence[str], options: Sequence[str]
    ) -> str:
        """The first part that tells what is missing, else the first option."""
        helpful = [
            number
            for number, words in _NUMBERED.findall(text)
            if any(statement in missing for statement in self.statements_in(words))
        ]
        return next((number for number in helpful if number in options), options[0])
