"""Embedding vectors of the passages of a memory's pages, stored in half precision (cosines move by < 0.001)."""

import base64
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gistread.book.normalise import count_words
from gistread.engine.protocol import NO_USAGE, Embedder, EmbedderInfo, Priority, TextKind
from gistread.memory.derived import ArtifactProgress, key_of
from gistread.memory.estimate import RemainingWork, unread_page_words
from gistread.memory.model import GistMemory, MemoryEntry
from gistread.memory.passages import Passage, split_into_passages
from gistread.memory.sizes import TOKENS_PER_WORD

_KIND = "vectors"
_BATCH_TEXTS = 64  # Enough to keep the model busy, few enough that a kill loses only seconds
_SAMPLE_CHARACTERS = 1200  # Two or three passages of the book, to measure the model's speed

_Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of all passages, in the order of the book: one row of `matrix` for each of `places`."""

    places: tuple[Passage, ...]
    pages: tuple[int, ...]  # Number of the page of each place
    matrix: _Matrix  # Rows of length 1

    def page_scores(self, query: _Matrix) -> dict[int, float]:
        scores: dict[int, float] = {}
        for page, cosine in zip(self.pages, (self.matrix @ query).tolist(), strict=True):
            scores[page] = max(cosine, scores.get(page, -1.0))
        return scores


async def build(
    memory: GistMemory, embedder: Embedder, priority: Priority = Priority.BACKGROUND
) -> AsyncGenerator[ArtifactProgress, None]:
    """Embed every page read so far that has no vectors yet. Loads the model. Raises EngineError."""
    info = await embedder.start()
    pages = [_PageTexts(entry, memory, info.fingerprint) for entry in list(memory.entries)]
    missing = [page for page in pages if page.vectors(memory, info.dimension) is None]
    done, usage = len(pages) - len(missing), NO_USAGE
    for batch in _batches(missing):
        embedded = await embedder.embed([text for page in batch for text in page.texts], TextKind.DOCUMENT, priority)
        usage += embedded.usage
        at = 0
        for page in batch:
            page.store(memory, embedded.vectors[at : at + len(page.texts)])
            at += len(page.texts)
        done += len(batch)
        yield ArtifactProgress(done, len(pages), usage)


def known_vectors(memory: GistMemory, info: EmbedderInfo) -> Vectors:
    """The vectors stored so far. Hashes the whole text: run it in a thread."""
    pages = [_PageTexts(entry, memory, info.fingerprint) for entry in memory.entries]
    found = [(page, known) for page in pages if (known := page.vectors(memory, info.dimension)) is not None]
    return Vectors(
        tuple(place for page, _ in found for place in page.places),
        tuple(page.number for page, _ in found for _ in page.places),
        np.concatenate([np.empty((0, info.dimension), np.float32), *(rows for _, rows in found)]),
    )


def remaining(memory: GistMemory, info: EmbedderInfo) -> RemainingWork:
    """Estimate the pages left to embed, unread ones included. Hashes the whole text: run it in a thread."""
    wanted = [
        sum(count_words(text) for text in page.texts)
        for page in (_PageTexts(entry, memory, info.fingerprint) for entry in list(memory.entries))
        if page.vectors(memory, info.dimension) is None
    ]
    done = len(memory.entries) - len(wanted)
    wanted += unread_page_words(memory)
    return RemainingWork(done, done + len(wanted), round(sum(wanted) * TOKENS_PER_WORD), by_engine=False)


async def tokens_per_second(memory: GistMemory, embedder: Embedder) -> float | None:
    """Speed of the embedding model, measured on the first passages if it is not known yet. Raises EngineError."""
    if embedder.tokens_per_s is None:
        places = split_into_passages(memory.book, 0, _SAMPLE_CHARACTERS)
        for _ in range(2):  # the first time includes reading the weights from disk
            texts = [memory.book.text[start:end] for start, end in places]
            await embedder.embed(texts, TextKind.DOCUMENT, Priority.BACKGROUND)
    return embedder.tokens_per_s


async def query_vector(question: str, embedder: Embedder) -> _Matrix:
    """The vector of a question. Raises EngineError."""
    embedded = await embedder.embed([" ".join(question.split())], TextKind.QUERY)
    return embedded.vectors.reshape(-1)


class _PageTexts:
    def __init__(self, entry: MemoryEntry, memory: GistMemory, fingerprint: str) -> None:
        page = entry.page
        self.number = page.number
        self._start = page.start
        self.places = split_into_passages(memory.book, page.start, page.end) or [(page.start, page.end)]
        self.texts = [memory.book.text[start:end] for start, end in self.places]
        self._key = key_of(fingerprint, *self.texts)

    def vectors(self, memory: GistMemory, dimension: int) -> _Matrix | None:
        match memory.derived.at(self._start).get(_KIND, self._key):
            case {"float16": str(data)}:
                try:
                    numbers = np.frombuffer(base64.b64decode(data, validate=True), "<f2")
                    return numbers.reshape(len(self.texts), dimension).astype(np.float32)
                except ValueError:
                    return None
        return None

    def store(self, memory: GistMemory, vectors: _Matrix) -> None:
        record = {"float16": base64.b64encode(vectors.astype("<f2").tobytes()).decode()}
        memory.derived.at(self._start).put(_KIND, self._key, record)


def _batches(pages: list[_PageTexts]) -> list[list[_PageTexts]]:
    batches: list[list[_PageTexts]] = []
    texts = 0
    for page in pages:
        if not batches or texts + len(page.texts) > _BATCH_TEXTS:
            batches.append([])
            texts = 0
        batches[-1].append(page)
        texts += len(page.texts)
    return batches
