"""Vectors of what a memory is made of: passages of its pages, whole pages, or their gists.

They are kept beside the memory by the texts they were made of and the model that made them (`derived.py`): a record
a page, so that a build that was stopped goes on, a memory that grows embeds only what is new, and another embedding
model makes others. Kept in half precision, which moves a cosine by less than 0.001. What they are searched
for, this does not know.
"""

import base64
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE, Embedder, EmbedderInfo, Priority, TextKind
from gistread.memory.derived import ArtifactProgress, key_of
from gistread.memory.estimate import RemainingWork, unread
from gistread.memory.model import GistMemory, MemoryEntry
from gistread.memory.passages import Passage, split_into_passages
from gistread.memory.sizes import TOKENS_PER_WORD

_KIND = "vectors"
_TEXTS_AT_ONCE = 64
"""Asked of the model in one go: enough to keep it busy, few enough that a kill loses seconds."""

_TRIED_CHARACTERS = 1200
"""Of the book, to find out how fast a model is: two or three passages."""


class Unit(StrEnum):
    """What has a vector of its own."""

    PASSAGE = "passage"
    """About a hundred words each: what a page tells in passing is not lost in what it is about."""
    PAGE = "page"
    """As much of each page as the model takes at once."""
    GIST = "gist"


@dataclass(frozen=True, slots=True)
class Vectors:
    """All of one unit, in the order of the book; one row of `matrix` for each of `places`."""

    places: tuple[Passage, ...]
    """`book.text[start:end]`; of a gist, the page it stands for."""
    pages: tuple[int, ...]
    """Number of the page that each place is on."""
    matrix: npt.NDArray[np.float32]
    """Rows of length 1."""
    cut: int = 0
    """Texts embedded just now that were longer than the model takes."""

    def cosines(self, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """How near each place is to this vector, from -1 to 1."""
        return self.matrix @ query

    def page_scores(self, query: npt.NDArray[np.float32]) -> dict[int, float]:
        """Of each page, the cosine of its nearest place."""
        scores: dict[int, float] = {}
        for page, cosine in zip(self.pages, self.cosines(query).tolist(), strict=True):
            scores[page] = max(cosine, scores.get(page, -1.0))
        return scores


async def build(
    memory: GistMemory, embedder: Embedder, unit: Unit = Unit.PASSAGE, priority: Priority = Priority.BACKGROUND
) -> AsyncGenerator[ArtifactProgress | Vectors, None]:
    """The vectors of every page that has been read; `Vectors` is the last thing yielded.

    Resumes where it stopped. `ArtifactProgress` counts pages. Loads the embedding model. Raises EngineError.
    """
    info = await embedder.start()
    pages = [_Wanted(entry, memory, unit, info.fingerprint) for entry in list(memory.entries)]
    found = {page.number: known for page in pages if (known := page.known(memory, info.dimension)) is not None}
    usage, cut_texts = NO_USAGE, 0
    for batch in _batches([page for page in pages if page.number not in found]):
        made = await embedder.embed([text for page in batch for text in page.texts], TextKind.DOCUMENT, priority)
        usage, cut_texts = usage + made.usage, cut_texts + made.truncated
        at = 0
        for page in batch:
            found[page.number] = page.keep(memory, made.vectors[at : at + len(page.texts)])
            at += len(page.texts)
        yield ArtifactProgress(len(found), len(pages), usage)
    rows = [found[page.number] for page in pages]
    yield Vectors(
        tuple(place for page in pages for place in page.places),
        tuple(page.number for page in pages for _ in page.places),
        np.concatenate([np.empty((0, info.dimension), np.float32), *rows]),
        cut_texts,
    )


def remaining(memory: GistMemory, info: EmbedderInfo, unit: Unit = Unit.PASSAGE) -> RemainingWork:
    """What is left to make with this model, in pages; those that have not been read are counted too.

    Hashes the whole text: for a thread.
    """
    wanted = [
        sum(count_words(text) for text in page.texts)
        for page in (_Wanted(entry, memory, unit, info.fingerprint) for entry in list(memory.entries))
        if page.known(memory, info.dimension) is None
    ]
    done = len(memory.entries) - len(wanted)
    wanted += unread(memory)
    return RemainingWork(done, done + len(wanted), round(sum(wanted) * TOKENS_PER_WORD), by_engine=False)


async def tokens_per_second(memory: GistMemory, embedder: Embedder) -> float | None:
    """Tokens in a second. A model that has not been asked anything yet is tried on the first passages of the book.

    Raises EngineError.
    """
    if embedder.tokens_per_s is None:
        texts = [memory.book.text[start:end] for start, end in split_into_passages(memory.book, 0, _TRIED_CHARACTERS)]
        for _ in range(2):  # At first weights are read from disk, and everything is set up.
            await embedder.embed(texts, TextKind.DOCUMENT, Priority.BACKGROUND)
    return embedder.tokens_per_s


async def query_vector(question: str, embedder: Embedder) -> npt.NDArray[np.float32]:
    """What `Vectors` are compared with. Raises EngineError."""
    embedded = await embedder.embed([" ".join(question.split())], TextKind.QUERY)
    return embedded.vectors.reshape(-1)


class _Wanted:
    """A page whose texts are to be vectors."""

    def __init__(self, entry: MemoryEntry, memory: GistMemory, unit: Unit, fingerprint: str) -> None:
        page = entry.page
        self.number = page.number
        self._start = page.start
        self.places: list[Passage] = [(page.start, page.end)]
        if unit is Unit.PASSAGE:
            self.places = split_into_passages(memory.book, page.start, page.end) or self.places
        texts = [memory.book.text[start:end] for start, end in self.places]
        self.texts = [entry.gist.text] if unit is Unit.GIST else texts
        self._key = key_of(fingerprint, *self.texts)

    def known(self, memory: GistMemory, dimension: int) -> npt.NDArray[np.float32] | None:
        """What was kept of it, where that is whole."""
        match memory.derived.at(self._start).get(_KIND, self._key):
            case {"float16": str(data)}:
                try:
                    numbers = np.frombuffer(base64.b64decode(data, validate=True), "<f2")
                    return numbers.reshape(len(self.texts), dimension).astype(np.float32)
                except ValueError:
                    return None
        return None

    def keep(self, memory: GistMemory, vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Keep its vectors; return them as they will be read again, so that it makes no difference which."""
        halved = vectors.astype("<f2")
        record = {"float16": base64.b64encode(halved.tobytes()).decode()}
        memory.derived.at(self._start).put(_KIND, self._key, record)
        return halved.astype(np.float32)


def _batches(pages: list[_Wanted]) -> list[list[_Wanted]]:
    """Neighbours together, as long as their texts are few."""
    batches: list[list[_Wanted]] = []
    texts = 0
    for page in pages:
        if not batches or texts + len(page.texts) > _TEXTS_AT_ONCE:
            batches.append([])
            texts = 0
        batches[-1].append(page)
        texts += len(page.texts)
    return batches
