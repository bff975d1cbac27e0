"""What gists keep: a preset for the kind of book (ReadAgent, F.2) and an optional task (F.1). Identifies a memory."""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from functools import cached_property

from gistread import prompts
from gistread.errors import UsageError
from gistread.presets import FICTION, Preset
from gistread.prompts import PromptTemplate
from gistread.store.journal import Record

MAX_TASK_CHARACTERS = 600  # The task is part of every gisting prompt, so it must be short compared to a page


@dataclass(frozen=True)
class GistFocus:
    preset: Preset = FICTION
    task: str = ""  # What the person looks for, in one line; empty for general gists
    wording: str = field(default="", compare=False)  # Of the prompts; see `EngineInfo.wording`

    @property
    def description(self) -> str:
        """For people, as in "read as a meeting, to find out: when it ends"."""
        return f"as {self.preset.title}{f', to find out: {self.task}' if self.task else ''}"

    @cached_property
    def placeholders(self) -> Mapping[str, str]:
        task = f"{prompts.load('aim', self.wording).fill(task=self.task)}\n" if self.task else ""
        return {"aim": task, "keep": self.preset.keep, "ask": self.preset.ask}

    def template(self, name: str) -> PromptTemplate:
        return prompts.load(name, self.wording).given(self.placeholders)

    def version(self, *names: str) -> str:
        return prompts.version(*names, given=self.placeholders, wording=self.wording)


DEFAULT_FOCUS = GistFocus()


def focus_record(focus: GistFocus) -> Record:
    """The focus for the header of a memory; the defaults are left out."""
    record: Record = {}
    if focus.preset != FICTION:
        # The full text of the preset, since its file may be deleted or edited.
        record["preset"] = asdict(focus.preset)
    if focus.task:
        record["task"] = focus.task
    return record


def focus_from_record(header: Record) -> GistFocus:
    """The focus in the header of a memory. Raises ValueError for an invalid one."""
    preset, task = header.get("preset"), header.get("task", "")
    try:
        focus = GistFocus(FICTION if preset is None else Preset(**preset), task)
    except TypeError:
        raise ValueError("no preset") from None
    if not all(isinstance(word, str) for word in (task, *astuple(focus.preset))):
        raise ValueError("no text")
    return focus


def parse_task(text: str) -> str:
    """The task that a person typed, on one line. Raises UsageError when it is empty or too long."""
    task = " ".join(text.split())
    if not task:
        raise UsageError(
            "The task is empty.", 'Say what you look for, as in --task "what is decided about the budget".'
        )
    if len(task) > MAX_TASK_CHARACTERS:
        raise UsageError(
            f"The task has {len(task)} characters; the limit is {MAX_TASK_CHARACTERS}.", "Shorten the task."
        )
    return task
