"""What a model that reads well says to a prompt.

Prepared answers to known questions, or the nearest recorded reply.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.engine.remote.server import RecordedRequest

RECORDED = Path(__file__).parents[2] / "shared" / "replies" / "exchanges.jsonl"
_TASK_CHARACTERS = 600  # The end of a prompt, where its question and its task are
_LISTED = re.compile(r"^(\d+)\. (.*)", re.MULTILINE)
_NUMBERED = re.compile(
    r"^\[(\d+)\] (.*?)(?=\n\n\[|\n\n---|\Z)", re.MULTILINE | re.DOTALL
)


def folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


@dataclass
class Prepared:
    """Gives known questions their answers.

    It knows the words that tell each, and names the sentence that has them. `cites`: its answers
    end with the number of the passage. `absent`: statements that say "the book does not tell".
    """

    answers: Mapping[str, str]
    telling: Mapping[str, str] = field(default_factory=dict)
    cites: bool = False
    absent: Collection[str] = ()

    def __call__(self, request: RecordedRequest) -> str:
        question = next(
            (answer for answer in self.answers if answer in request.text), None
        )
        if question is None:
            return "The book does not say."
        if "Does the reply say that the book does not tell this" in request.text:
            is_absent = any(
                f"Reply: {statement}\n" in request.text for statement in self.absent
            )
            return "yes" if is_absent else "no"
        tell = [folded(words) for words in self.telling.get(question, "").split("|")]
        if "tells this answer?" in request.text:
            return self._number(_LISTED, request.text, tell) or "1"
        number = self._number(_NUMBERED, request.text, tell) if self.cites else ""
        return (
            f"{self.answers[question]} [{number}]" if number else self.answers[question]
        )

    @staticmethod
    def _number(form: re.Pattern[str], text: str, tell: Sequence[str]) -> str:
        """The number of the first text with the first words found."""
        texts = {number: folded(passage) for number, passage in form.findall(text)}
        return next(
            (
                number
                for words in tell
                for number, passage in texts.items()
                if words in passage
            ),
            "",
        )


class Recorded:
    """Replays the reply to the recorded prompt whose task is most alike; needs `RECORDED`."""

    def __init__(self) -> None:
        lines = RECORDED.read_text("utf-8").splitlines()
        self._replies = [
            (set(self._words(exchange["messages"][-1]["content"])), exchange["reply"])
            for exchange in map(json.loads, lines)
        ]

    def __call__(self, request: RecordedRequest) -> str:
        words = set(self._words(request.body["messages"][-1]["content"]))
        return str(
            max(
                self._replies,
                key=lambda reply: len(words & reply[0]) / len(words | reply[0]),
            )[1]
        )

    def _words(self, prompt: str) -> Iterator[str]:
        yield from folded(prompt[-_TASK_CHARACTERS:]).split()
