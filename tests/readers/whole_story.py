"""A scripted reader who answers a question about a whole story from what is in front of them, and
from nothing else.

It reads as a capable model does: it says of each prompt which pieces of the answer it tells, and
asks for the missing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

_NUMBERED = re.compile(r"^(\d+)\. (.*)", re.MULTILINE)
_PAGE = re.compile(r"\(Page (\d+)\)\n(.*)")


class WholeStoryReader:
    """`pieces`: each statement of the answer, with words of the text that tell it."""

    def __init__(self, pieces: Mapping[str, Sequence[str]], facts: Mapping[str, str]) -> None:
        """`facts`: the reply to an extraction, by words of its page."""
        self._pieces = pieces
        self._facts = facts

    def told(self, text: str) -> list[str]:
        """The statements that a text tells, in the words of the book or in the reader's own."""
        return [
            said
            for said, words in self._pieces.items()
            if any(one in text for one in (said, *words))
        ]

    def says(self, prompt: str) -> str:
        text, _, task = prompt.rpartition("\n---\n")
        notes = ""
        if "Notes so far:" in text:
            notes, _, text = text.partition("\n---\n")
        if "atomic facts" in task:
            return "".join(reply for words, reply in self._facts.items() if words in text)
        if "Write a plan" in prompt:
            return "Find how it begins, what happens, and how it ends."
        known = task.partition("What you know")[2] or notes or task.partition("Notebook:")[2]
        if "Nothing new" in task or "in JSON" in task:
            return self._tell(one for one in self.told(text) if one not in known) or "Nothing new."
        return self._tell(self.told(f"{text}\n{known}")) or "The book does not say."

    @staticmethod
    def _tell(statements: Iterable[str]) -> str:
        return " ".join(f"{one}." for one in statements)

    def chooses(self, prompt: str, options: Sequence[str]) -> str:
        text, _, task = prompt.rpartition("\n---\n")
        known = task.partition("What you know")[2] or task.partition("Notebook:")[2]
        missing = [piece for piece in self._pieces if piece not in self.told(known)]
        new = [one for one in self.told(text) if one in missing]
        match options:
            case ["yes", "part", "no"]:
                return "yes" if set(new) == set(missing) else "part" if new else "no"
            case ["yes", "no"]:
                return "yes" if new else "no"
            case ["ANSWER", "ASK"]:
                return "ANSWER"
            case [*_, "enough"]:
                return "next page" if "next page" in options and missing else "enough"
            case [*_, "none"]:
                return "none"  # No two reports contradict each other.
        if _PAGE.search(text):
            in_full = " ".join(self.told(re.sub(_PAGE, "", text)))
            shut = [
                number
                for number, gist in _PAGE.findall(text)
                if any(one not in in_full for one in self.told(gist))
            ]
            return next((f"Page {one}" for one in shut if f"Page {one}" in options), "STOP")
        if "ANSWER" in options and not missing:
            return "ANSWER"
        helpful = [
            number
            for number, words in _NUMBERED.findall(text)
            if any(one in missing for one in self.told(words))
        ]
        return next((one for one in helpful if one in options), options[0])
