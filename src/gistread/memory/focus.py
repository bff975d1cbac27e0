"""What the gists of a memory are made for: a kind of book (ReadAgent, Appendix F.2) and perhaps a task (F.1).

Prompts have places for both. An focus fills them, and so is part of what a memory is known by: gists with another focus
are another memory. Knows neither books nor engines.
"""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from functools import cached_property

from gistread import prompts
from gistread.errors import UsageError
from gistread.journal import Record
from gistread.presets import FICTION, Preset
from gistread.prompts import PromptTemplate

MOST_TASK_CHARACTERS = 600
"""The task stands in the prompt of every gist: a page is to be longer than it."""


@dataclass(frozen=True)
class GistFocus:
    """What to keep of a book."""

    preset: Preset = FICTION
    task: str = ""
    """What the person looks for, on one line; empty: gists for whatever may be asked."""

    @property
    def description(self) -> str:
        """For people, as in "read as a meeting, to find out: when it ends"."""
        return f"as {self.preset.title}{f', to find out: {self.task}' if self.task else ''}"

    @cached_property
    def words(self) -> Mapping[str, str]:
        """What stands in the places of the gisting prompts."""
        focus = f"{prompts.load('aim').fill(task=self.task)}\n" if self.task else ""
        return {"aim": focus, "keep": self.preset.keep, "ask": self.preset.ask}

    def template(self, name: str) -> PromptTemplate:
        """This prompt with the words of the focus in their places."""
        return prompts.load(name).given(self.words)

    def version(self, *names: str) -> str:
        """A hash of these prompts with the words of the focus in their places."""
        return prompts.version(*names, given=self.words)


DEFAULT_FOCUS = GistFocus()
"""The focus of every memory that names none."""


def focus_record(focus: GistFocus) -> Record:
    """What the header of a memory says of its focus: nothing of the usual, as before there were any."""
    record: Record = {}
    if focus.preset != FICTION:
        # Its words too: they hold where its file is gone or says something else by now.
        record["preset"] = asdict(focus.preset)
    if focus.task:
        record["task"] = focus.task
    return record


def focus_from_record(header: Record) -> GistFocus:
    """The focus in the header of a memory. Raises ValueError for one that cannot be."""
    preset, task = header.get("preset"), header.get("task", "")
    try:
        focus = GistFocus(FICTION if preset is None else Preset(**preset), task)
    except TypeError:
        raise ValueError("no preset") from None
    if not all(isinstance(word, str) for word in (task, *astuple(focus.preset))):
        raise ValueError("no text")
    return focus


def parse_task(text: str) -> str:
    """The task in what a person typed. Raises UsageError when it is empty or too long."""
    task = " ".join(text.split())
    if not task:
        raise UsageError(
            "The task is empty.", 'Say what you look for, as in --task "what is decided about the budget".'
        )
    if len(task) > MOST_TASK_CHARACTERS:
        raise UsageError(
            f"The task has {len(task)} characters; {MOST_TASK_CHARACTERS} is the most.",
            "Say what you look for in short.",
        )
    return task
