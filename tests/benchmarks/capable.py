"""A scripted reader who knows one answer and the words of the story that tell it.

It does what a capable model does with each prompt of each method: it opens the pages that tell the
answer, takes the notes, answers where the text tells it, cites the passage that does, and names the
sentence. It reads gists by the text that they were made of.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.engine.remote.server import RecordedRequest
from tests.fake_engine import tokens_in
from tests.replies import folded

_NO_ANSWER = "The book does not say."
_NOTHING_NEW = "Nothing new."
_LISTED = re.compile(r"^(\d+)\. (.*)", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |\Z)", re.MULTILINE | re.DOTALL)
_PAGES = re.compile(
    r"^\(Page (\d+)(?:, in full)?\)\n(.*?)(?=^\(Page|\Z)", re.MULTILINE | re.DOTALL
)
_CLOSED_PAGES = re.compile(
    r"^\(Page (\d+)\)\n(.*?)(?=^\(Page|\Z)", re.MULTILINE | re.DOTALL
)
_FACTS = re.compile(r"^Page (\d+):\n(.*?)(?=^Page \d+:|\Z)", re.MULTILINE | re.DOTALL)
_REPORTS = re.compile(r"^Parts? (\d+)[^:]*: (.*)", re.MULTILINE)
_PAUSE = re.compile(r"<(\d+)>")
_STATEMENT_END = re.compile(r"[.!?](?=\s|\Z)")
_SINGLE_PASS = "Text, with numbered places to pause:"
_GIST_SHARE = 6  # A gist has one in so many words of its passage
_LEAST_WORDS = 12  # Of a gist
_BEGINNING = 7  # Words of a sentence that a gist has: a longer run counts as copied


@dataclass(slots=True)
class Tokens:
    # Without the beginnings that earlier prompts of the question had
    prefilled: int = 0
    generated: int = 0

    @property
    def all(self) -> int:
        return self.prefilled + self.generated


@dataclass(slots=True)
class CapableReader:
    """What a server says; `ask` sets the question that it is asked next."""

    question: str = ""
    answer: str = ""
    tell: Sequence[str] = ()
    tokens: Tokens = field(default_factory=Tokens)
    # Folded, with the text they tell
    _gists: dict[str, str] = field(default_factory=dict)
    _prompts: list[list[str]] = field(default_factory=list)  # Words of each prompt

    def ask(self, question: str, answer: str, tell: str) -> None:
        self.question = question
        self.answer = answer
        self.tell = [folded(words) for words in tell.split("|")]
        self.tokens = Tokens()
        self._prompts.clear()

    def __call__(self, request: RecordedRequest) -> str:
        reply = self._reply(request.text)
        words = request.text.split(" ")
        reused = max((_common(words, earlier) for earlier in self._prompts), default=0)
        self._prompts.append(words)
        self.tokens.prefilled += tokens_in(" ".join(words[reused:]))
        self.tokens.generated += tokens_in(reply)
        return reply

    def _reply(self, prompt: str) -> str:
        text, _, task = prompt.rpartition("\n---\n")
        for words, says in self._replies.items():
            if words in task:
                return says(self, text, task)
        return self._answer_to(text, task) if "Question:" in task else _NO_ANSWER

    def _tells(self, text: str) -> bool:
        """Whether a text has words that tell the answer, or is the gist of one that has."""
        plain = folded(text)
        if any(words in plain for words in self.tell):
            return True
        return any(
            gist in plain and self._tells(passage)
            for gist, passage in self._gists.items()
        )

    def _knows(self, text: str) -> bool:
        return folded(self.answer) in folded(text)

    def _source(self, text: str, task: str) -> str:
        """The numbers of sentences, one for each answer that is asked about."""
        numbers = [
            number
            for number, sentence in _LISTED.findall(text)
            if self._tells(sentence)
        ]
        return numbers[0] if numbers else "0"

    def _gist(self, text: str, task: str) -> str:
        passage = text.partition("Passage:")[2].strip() or _between(text, task)
        most = max(_LEAST_WORDS, len(passage.split()) // _GIST_SHARE)
        beginnings = [
            " ".join(sentence.split()[:_BEGINNING]) for sentence in _sentences(passage)
        ]
        step = math.ceil(len(beginnings) * _BEGINNING / most)
        gist = (
            ". ".join(beginning.rstrip(".,;:!?”") for beginning in beginnings[::step])
            + "."
        )
        self._gists[folded(gist)] = passage
        return gist

    def _facts(self, text: str, task: str) -> str:
        return "".join(
            f"- {fact} | {'; '.join(_elements(fact))}\n" for fact in _sentences(text)
        )

    def _note(self, text: str, task: str) -> str:
        notes, _, chunk = text.rpartition("\n---\n")
        known = notes or task.partition("Notebook:")[2]
        if self._knows(known) or not self._tells(chunk):
            return _NOTHING_NEW
        return self.answer

    def _begin(self, text: str, task: str) -> str:
        """Key elements that the sentences with the answer have."""
        own = {
            word
            for words in (*self.tell, folded(self.question))
            for word in words.split()
        }
        listed = [
            number
            for number, name in _LISTED.findall(text)
            if own & {*folded(name).split()}
        ]
        return ", ".join([*listed[:5], "STOP"])

    def _neighbour(self, text: str, task: str) -> str:
        if self._knows(task.partition("Notebook:")[2]):
            return "STOP"
        return self._begin(text, task).split(", ")[0]

    def _action(self, text: str, task: str) -> str:
        if self._knows(task.partition("Notebook:")[2]):
            return "enough"
        return "search more" if "search more" in task else "next page"

    def _page(self, text: str, task: str) -> str:
        pages = [
            number for number, gist in _CLOSED_PAGES.findall(text) if self._tells(gist)
        ]
        is_open = any(self._in_full(text, words) for words in self.tell)
        chosen = "STOP" if is_open or not pages else f"Page {pages[0]}"
        if "in JSON" in task:
            return json.dumps({"choice": chosen, "reason": "it tells what is asked"})
        return chosen

    @staticmethod
    def _in_full(text: str, words: str) -> bool:
        closed = _CLOSED_PAGES.sub("", text)
        return words in folded(closed)

    def _pages(self, text: str, task: str) -> str:
        pages = [
            f"Page {number}"
            for number, gist in _PAGES.findall(text)
            if self._tells(gist)
        ]
        return ", ".join([*pages[:2], "STOP"])

    def _pages_of_facts(self, text: str, task: str) -> str:
        pages = [
            f"Page {number}"
            for number, facts in _FACTS.findall(text)
            if self._tells(facts)
        ]
        return ", ".join([*pages[:1], "STOP"])

    def _part(self, text: str, task: str) -> str:
        numbers = [
            number for number, summary in _LISTED.findall(text) if self._tells(summary)
        ]
        is_known = self._knows(task)
        otherwise = "none" if '"none"' in task else "1"
        return "ANSWER" if is_known else next(iter(numbers), otherwise)

    def _leaf(self, text: str, task: str) -> str:
        if not self._tells(text):
            return json.dumps({"choice": "no", "told": "nothing"})
        return json.dumps({"choice": "yes", "told": self.answer})

    def _pause(self, text: str, task: str) -> str:
        return f"<{_PAUSE.findall(text)[-1]}>"

    def _answer_to(self, text: str, task: str) -> str:
        items = [
            *_NUMBERED.findall(text),
            *_PAGES.findall(text),
            *_REPORTS.findall(text),
        ]
        if page := re.search(r"Above is page (\d+) of", task):
            items.append((page[1], text))
        by_text = [number for number, item in items if self._has(item)]
        by_gist = [number for number, item in items if self._tells(item)]
        is_told = by_text or by_gist or self._tells(text)
        if not is_told and not self._knows(f"{text} {task}"):
            return _NO_ANSWER
        number = next(iter([*by_text, *by_gist]), "")
        if not number or "End each sentence with the number" not in task:
            return self.answer
        return _STATEMENT_END.sub(lambda end: f" [{number}]{end[0]}", self.answer)

    def _has(self, item: str) -> bool:
        plain = folded(item)
        return self._knows(item) or any(words in plain for words in self.tell)

    _replies: "dict[str, Callable[[CapableReader, str, str], str]]" = field(init=False)

    def __post_init__(self) -> None:
        self._replies = {
            "tells this answer?": CapableReader._source,
            "Does the reply say that the book does not tell this": lambda *_: "no",
            "Shorten this passage": CapableReader._gist,
            "Shorten the text from": CapableReader._gist,
            "is it most natural to pause": CapableReader._pause,
            "Tell it in plain sentences": CapableReader._gist,
            "as atomic facts": CapableReader._facts,
            "Write a plan": lambda *_: "Find what is asked.",
            "Name those that may lead": CapableReader._begin,
            "should be looked at next?": CapableReader._neighbour,
            "not in the notebook yet?": CapableReader._note,
            "What does this part add": CapableReader._note,
            'Say "ANSWER" if the reports': lambda *_: "ANSWER",
            "What should be done next?": CapableReader._action,
            "Which single page would you open": CapableReader._page,
            "Which pages would you open": CapableReader._pages,
            "Which of these pages should be read in full": CapableReader._pages_of_facts,
            "Which of these parts should be read next": CapableReader._part,
            "Does this page help to answer": CapableReader._leaf,
            "Does this part tell anything": lambda self, text, _: (
                "yes" if self._tells(text) else "no"
            ),
            "What does this part tell towards": lambda self, text, _: (
                self.answer if self._tells(text) else _NO_ANSWER
            ),
            "contradict each other, so that": lambda *_: "none",
            "where a reader may pause": CapableReader._pause,
            "Say this in the language of the book": lambda self, *_: self.answer,
        }


def _between(text: str, task: str) -> str:
    """The text between two of its numbers, as a prompt names them."""
    numbers = re.findall(r"<\d+>", task.partition("Shorten the text from")[2])
    *before, last = ["", *numbers]
    passage = text.rpartition(last)[0].removeprefix(_SINGLE_PASS)
    start = before[-1]
    return _PAUSE.sub("", passage.partition(start)[2] if start else passage).strip()


def _common(words: Sequence[str], earlier: Sequence[str]) -> int:
    """How many words two prompts begin with alike."""
    for at, pair in enumerate(zip(words, earlier, strict=False)):
        if pair[0] != pair[1]:
            return at
    return min(len(words), len(earlier))


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from (
            piece
            for piece in re.split(r"(?<=[.!?”])\s+", line)
            if len(piece.split()) > 3
        )


def _elements(sentence: str) -> list[str]:
    """Its names, and its long words."""
    words = re.findall(r"[^\W\d_]+", sentence)
    chosen = [word for word in words if word[0].isupper() or len(word) > 6]
    return list(dict.fromkeys(chosen))[:6] or words[:2]
