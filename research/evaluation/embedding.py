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
# What models expect before a question and before a passage; the first pattern in the model's name
# decides.
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
        name = re.sub(
            r"[\s_]+",
            "-",
            f"{header.name} {header.title} {header.architecture}".lower(),
        )
        self._query_prefix, self._document_prefix = _prefixes_for(name)
        self._known: dict[str, Matrix] = {}

    @cached_property
    def _model(self) -> Any:
        from llama_cpp import Llama

        return Llama(str(self._path), embedding=True, n_ctx=0, verbose=False)

    def page_scores(self, question: str, memory: GistMemory) -> dict[int, float]:
        """The cosine of the question and the nearest passage of each page, by page number.

        Run it in a thread.
        """
        query = self._vectors([self._query_prefix + " ".join(question.split())])[0]
        scores = {}
        for entry in memory.entries:
            page, text = entry.page, memory.book.text
            places = split_into_passages(memory.book, page.start, page.end) or [
                (page.start, page.end)
            ]
            passages = [
                self._document_prefix + text[start:end] for start, end in places
            ]
            missing = [passage for passage in passages if passage not in self._known]
            if missing:
                self._known.update(zip(missing, self._vectors(missing), strict=True))
            scores[page.number] = max(
                float(self._known[passage] @ query) for passage in passages
            )
        return scores

    def _vectors(self, texts: Sequence[str]) -> list[Matrix]:
        return [
            np.asarray(row, np.float32)
            for row in self._model.embed(list(texts), normalize=True, truncate=True)
        ]


def _prefixes_for(name: str) -> tuple[str, str]:
    """What a model of this name expects before a query and before a document."""
    for pattern, query, document in _PREFIXES:
        if re.search(pattern, name):
            return query, document
    return "", ""
