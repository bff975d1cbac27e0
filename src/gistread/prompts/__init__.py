"""All prompts, a text file each: text first, task last. `{name}` is a placeholder.

An adapter is trained on an exact wording. That wording is a folder of files that replace those of
the same name; what is the same in both stands once.
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
    name: str
    text: str
    known: Mapping[str, str] = field(default_factory=dict)  # Values filled in already
    # Placeholders of the usual wording that this one lacks
    unused: frozenset[str] = frozenset()

    @property
    def places(self) -> frozenset[str]:
        return frozenset(_PLACE.findall(self.text)) - self.known.keys()

    def given(self, values: Mapping[str, str]) -> "PromptTemplate":
        """The template with those of these values that it has placeholders for."""
        return replace(
            self,
            known={
                name: value for name, value in values.items() if name in self.places
            },
        )

    def fill(self, **values: object) -> str:
        """The prompt with every placeholder filled.

        Raises KeyError for missing or unknown values.
        """
        if unknown := (values.keys() ^ self.places) - self.unused:
            raise KeyError(f"prompt {self.name}: {', '.join(sorted(unknown))}")
        filled = {**self.known, **values}
        return _PLACE.sub(lambda place: str(filled[place[1]]), self.text)

    @property
    def own_words(self) -> str:
        return _PLACE.sub(lambda place: self.known.get(place[1], " "), self.text)

    @property
    def wording(self) -> str:
        """The text with open placeholders as written."""
        return _PLACE.sub(lambda place: self.known.get(place[1], place[0]), self.text)


def names(wording: str = "") -> frozenset[str]:
    """The names of all prompts that a wording has, its own and the usual ones."""
    folder = resources.files(__name__)
    files = [*folder.iterdir()]
    if wording:
        files += folder.joinpath(wording).iterdir()
    return frozenset(
        file.name.removesuffix(".txt") for file in files if file.name.endswith(".txt")
    )


@cache
def load(name: str, wording: str = "") -> PromptTemplate:
    """The prompt in `WORDING/NAME.txt` if that exists, else in `NAME.txt`.

    Raises FileNotFoundError.
    """
    folder = resources.files(__name__)
    usual, own = folder.joinpath(f"{name}.txt"), folder.joinpath(wording, f"{name}.txt")
    if not (wording and own.is_file()):
        return PromptTemplate(name, usual.read_text(encoding="utf-8").strip())
    template = PromptTemplate(name, own.read_text(encoding="utf-8").strip())
    if not usual.is_file():
        return template
    return replace(template, unused=load(name).places - template.places)


def version(
    *names: str, given: Mapping[str, str] | None = None, wording: str = ""
) -> str:
    """A hash of these prompts with the values given.

    Memories made with other wording do not match it, and are kept apart.
    """
    digest = hashlib.sha256()
    for name in names:
        template = load(name, wording).given(given or {})
        digest.update(f"{name}\0{template.wording}\0".encode())
    return digest.hexdigest()[:12]
