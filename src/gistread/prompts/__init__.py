"""All prompts, each in a text file: text first, task last. `{name}` is a placeholder.

An adapter is trained on an exact wording. The files of that wording are in a folder, and replace
the usual ones of the same name.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources

_PLACE = re.compile(r"\{([a-z_]+)\}")

TRAINED = "trained"  # The wording that the starter's adapter was trained on
WORDINGS = ("", TRAINED)


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with placeholders.

    >>> PromptTemplate("greeting", "{hello}, {name}!").fill(hello="Hello", name="Ann")
    'Hello, Ann!'
    """

    name: str
    text: str
    known: Mapping[str, str] = field(default_factory=dict)  # Values filled in already
    # Placeholders of the usual wording that this one lacks
    unused: frozenset[str] = frozenset()

    @property
    def places(self) -> frozenset[str]:
        """The names of the placeholders that are still to be filled."""
        return frozenset(_PLACE.findall(self.text)) - self.known.keys()

    def with_values(self, values: Mapping[str, str]) -> "PromptTemplate":
        """The template with these values filled in; ignores those without a placeholder."""
        places = self.places
        known = {name: value for name, value in values.items() if name in places}
        return replace(self, known=known)

    def fill(self, **values: object) -> str:
        """The prompt with every placeholder filled.

        Raises KeyError for missing or unknown values.
        """
        missing_or_unknown = (values.keys() ^ self.places) - self.unused
        if missing_or_unknown:
            names = ", ".join(sorted(missing_or_unknown))
            raise KeyError(f"prompt {self.name}: {names}")
        all_values = {**self.known, **values}
        return _PLACE.sub(lambda place: str(all_values[place[1]]), self.text)

    @property
    def own_words(self) -> str:
        """The text without open placeholders."""
        return _PLACE.sub(lambda place: self.known.get(place[1], " "), self.text)

    @property
    def wording(self) -> str:
        """The text with open placeholders as written."""
        return _PLACE.sub(lambda place: self.known.get(place[1], place[0]), self.text)


def names(wording: str = "") -> frozenset[str]:
    """The names of all prompts that a wording has, its own and the usual ones."""
    folder = resources.files(__name__)
    files = list(folder.iterdir())
    if wording:
        files += folder.joinpath(wording).iterdir()
    texts = [file.name for file in files if file.name.endswith(".txt")]
    return frozenset(name.removesuffix(".txt") for name in texts)


@cache
def load(name: str, wording: str = "") -> PromptTemplate:
    """The prompt in `WORDING/NAME.txt` if that exists, else in `NAME.txt`.

    Raises FileNotFoundError.
    """
    folder = resources.files(__name__)
    usual = folder.joinpath(f"{name}.txt")
    own = folder.joinpath(wording, f"{name}.txt")
    if not wording or not own.is_file():
        return PromptTemplate(name, usual.read_text(encoding="utf-8").strip())
    template = PromptTemplate(name, own.read_text(encoding="utf-8").strip())
    if not usual.is_file():
        return template
    # Callers give the values of the usual wording.
    unused = load(name).places - template.places
    return replace(template, unused=unused)


def version(
    *names: str, values: Mapping[str, str] | None = None, wording: str = ""
) -> str:
    """A hash of these prompts with these values filled in.

    It is part of a memory's identity: other prompts make another memory.
    """
    digest = hashlib.sha256()
    for name in names:
        template = load(name, wording).with_values(values or {})
        digest.update(f"{name}\0{template.wording}\0".encode())
    return digest.hexdigest()[:12]
