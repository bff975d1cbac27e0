"""All prompts, a text file each: text first, task last (design D4). `{name}` is a placeholder."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    name: str
    text: str
    known: Mapping[str, str] = field(default_factory=dict)  # Values filled in already

    @property
    def places(self) -> frozenset[str]:
        return frozenset(_PLACE.findall(self.text)) - self.known.keys()

    def given(self, values: Mapping[str, str]) -> "PromptTemplate":
        """The template with those of these values that it has placeholders for."""
        return replace(self, known={name: value for name, value in values.items() if name in self.places})

    def fill(self, **values: object) -> str:
        """The prompt with every placeholder filled. Raises KeyError for missing or unknown values."""
        if unknown := values.keys() ^ self.places:
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


@cache
def load(name: str) -> PromptTemplate:
    """The prompt in `NAME.txt`. Raises FileNotFoundError."""
    text = resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return PromptTemplate(name, text.strip())


def names() -> tuple[str, ...]:
    files = (file.name for file in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".txt") for name in files if name.endswith(".txt")))


def version(*names: str, given: Mapping[str, str] | None = None) -> str:
    """A hash of these prompts with the values given: what other wording made does not match (D5)."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{load(name).given(given or {}).wording}\0".encode())
    return digest.hexdigest()[:12]
