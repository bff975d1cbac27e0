"""Every prompt, as a text file beside this one; none stands in code.

A prompt is laid out text first, task last (design D4), so that the prompts which follow one another over the
same text share their beginning and an engine evaluates only what is new. `{name}` marks a place to fill. What
is filled in is data: it is never looked at again, so a book may be full of braces.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """One prompt with places to fill."""

    name: str
    text: str

    @property
    def places(self) -> frozenset[str]:
        return frozenset(_PLACE.findall(self.text))

    def fill(self, **values: object) -> str:
        """The prompt with every place filled. Raises KeyError when a value is missing or has no place."""
        if unknown := values.keys() ^ self.places:
            raise KeyError(f"prompt {self.name}: {', '.join(sorted(unknown))}")
        return _PLACE.sub(lambda place: str(values[place[1]]), self.text)

    @property
    def own_words(self) -> str:
        """What the template itself says, without what is filled in."""
        return _PLACE.sub(" ", self.text)


@cache
def load(name: str) -> PromptTemplate:
    """The prompt kept in `NAME.txt`. Raises FileNotFoundError when there is none."""
    text = resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return PromptTemplate(name, text.strip())


def version(*names: str) -> str:
    """A hash of these prompts: what was made with other words is another thing (design D5)."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{load(name).text}\0".encode())
    return digest.hexdigest()[:12]
