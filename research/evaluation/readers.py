"""The readers of an evaluation: those of gistread, and baselines to compare them with."""

from collections.abc import Mapping
from types import MappingProxyType

from gistread.readers import registry
from gistread.readers.registry import Method

_MODULE = "research.evaluation.baselines"
_BASELINES = (
    Method(
        "gists",
        "the gist memory alone",
        f"{_MODULE}:gists",
        artifacts=("summaries of a long memory",),
    ),
    Method(
        "bm25", "the pages that share most words with the question", f"{_MODULE}:bm25"
    ),
    Method(
        "dense",
        "the pages nearest in meaning, by an embedding model",
        f"{_MODULE}:dense",
    ),
    Method(
        "dos",
        "passages by relevance, in the order of the book",
        f"{_MODULE}:dos",
        needs_memory=False,
    ),
    Method(
        "full",
        "the whole text, or as much of its start as fits",
        f"{_MODULE}:full",
        needs_memory=False,
    ),
    Method(
        "closed-book", "no text at all", f"{_MODULE}:closed_book", needs_memory=False
    ),
)
METHODS: Mapping[str, Method] = MappingProxyType(
    {**registry.METHODS, **{baseline.name: baseline for baseline in _BASELINES}}
)


def uses_memory(name: str) -> bool:
    """Whether a reader needs the memory, or reports the pages that it used if there is one."""
    return METHODS[name].needs_memory or name in ("auto", "gistread")
