"""Every prompt, as a text file beside this one; none stands in code.

A prompt is laid out text first, task last (design D4), so that the prompts which follow one another over the
same text share their beginning and an engine evaluates only what is new. `{name}` marks a place to fill. What
is filled in is data: it is never looked at again, so a book may be full of braces.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """One prompt with places to fill."""

    name: str
    text: str
    known: Mapping[str, str] = field(default_factory=dict)
    """What has been filled in already."""

    @property
    def places(self) -> frozenset[str]:
        """What is still to be filled in."""
        return frozenset(_PLACE.findall(self.text)) - self.known.keys()

    def given(self, values: Mapping[str, str]) -> "PromptTemplate":
        """With those of these values that it has a place for; the others are for other prompts."""
        return replace(self, known={name: value for name, value in values.items() if name in self.places})

    def fill(self, **values: object) -> str:
        """The prompt with every place filled. Raises KeyError when a value is missing or has no place."""
        if unknown := values.keys() ^ self.places:
            raise KeyError(f"prompt {self.name}: {', '.join(sorted(unknown))}")
        filled = {**self.known, **values}
        return _PLACE.sub(lambda place: str(filled[place[1]]), self.text)

    @property
    def own_words(self) -> str:
        """What the template itself says, without what is still to be filled in."""
        return _PLACE.sub(lambda place: self.known.get(place[1], " "), self.text)

    @property
    def wording(self) -> str:
        """The template with its open places as they are written."""
        return _PLACE.sub(lambda place: self.known.get(place[1], place[0]), self.text)


@cache
def load(name: str) -> PromptTemplate:
    """The prompt kept in `NAME.txt`. Raises FileNotFoundError when there is none."""
    text = resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return PromptTemplate(name, text.strip())


def names() -> tuple[str, ...]:
    """Of all prompts, in alphabetical order."""
    files = (file.name for file in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".txt") for name in files if name.endswith(".txt")))


def version(*names: str, given: Mapping[str, str] | None = None) -> str:
    """A hash of these prompts: what was made with other words, of ours or in their places, is another thing (D5)."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{load(name).given(given or {}).wording}\0".encode())
    return digest.hexdigest()[:12]
