"""An embedding model for the baseline `dense`, run in this process by llama-cpp-python."""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import read_header
from gistread.memory.model import GistMemory
from gistread.memory.passages import split_into_passages

Matrix = npt.NDArray[np.float32]

_INSTRUCTION = (
    "Instruct: Given a question about a book, retrieve passages that answer it\nQuery: "
)
_SEARCHING = "Represent this sentence for searching relevant passages: "
# By a pattern in the model's name, the texts that it expects before a question and before a
# passage. The first pattern that matches decides.
_PREFIXES = (
    (r"nomic-?(embed|bert)", "search_query: ", "search_document: "),
    (
        r"e5-mistral|e5.*-instruct|sfr-embedding|linq-embed|qwen3-embed|gte-qwen",
        _INSTRUCTION,
        "",
    ),
    (r"\be5\b", "query: ", "passage: "),
    (
        r"embedding-?gemma|gemma-embedding",
        "task: search result | query: ",
        "title: none | text: ",
    ),
    (r"arctic-embed-[a-z]+-v2", "query: ", ""),
    (r"bge-(small|base|large)|mxbai-embed|arctic-embed", _SEARCHING, ""),
)


class Embedder:
    """Vectors of texts, of length 1; those of passages are computed once."""

    def __init__(self, path: Path) -> None:
        """Raises EngineError if the file is not GGUF."""
        header = read_header(path)
        self.fingerprint = header.fingerprint
        self._path = path
        names = f"{header.name} {header.title} {header.architecture}".lower()
        name = re.sub(r"[\s_]+", "-", names)
        self._query_prefix, self._document_prefix = _prefixes_for(name)
        self._known: dict[str, Matrix] = {}  # By the passage with its prefix

    @cached_property
    def _model(self) -> Any:
        from llama_cpp import Llama

        return Llama(str(self._path), embedding=True, n_ctx=0, verbose=False)

    def page_scores(self, question: str, memory: GistMemory) -> dict[int, float]:
        """The cosine of the question and the nearest passage of each page, by page number.

        Run it in a thread.
        """
        line = " ".join(question.split())
        [query] = self._vectors([f"{self._query_prefix}{line}"])
        book = memory.book
        scores: dict[int, float] = {}
        for entry in memory.entries:
            page = entry.page
            places = split_into_passages(book, page.start, page.end)
            passages = [
                self._document_prefix + book.text[start:end]
                for start, end in places or [(page.start, page.end)]
            ]
            vectors = self._known_vectors(passages)
            scores[page.number] = max(float(vector @ query) for vector in vectors)
        return scores

    def _known_vectors(self, passages: Sequence[str]) -> list[Matrix]:
        """The vectors of passages, computed for those not known yet."""
        missing = [passage for passage in passages if passage not in self._known]
        if missing:
            self._known.update(zip(missing, self._vectors(missing), strict=True))
        return [self._known[passage] for passage in passages]

    def _vectors(self, texts: Sequence[str]) -> list[Matrix]:
        rows = self._model.embed(list(texts), normalize=True, truncate=True)
        return [np.asarray(row, np.float32) for row in rows]


def _prefixes_for(name: str) -> tuple[str, str]:
    """The texts that a model of this name expects before a query and before a document."""
    for pattern, query, document in _PREFIXES:
        if re.search(pattern, name):
            return query, document
    return "", ""
