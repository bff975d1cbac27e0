"""Which models make vectors, and what each family of them wants to be told: facts about models, no code of theirs.

A text that is searched for and one that is to be found are begun with different words by many embedding models. Their
makers say which; a file does not, so they are known here by the model's name.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.protocol import TextKind
from gistread.errors import EngineError


class Pooling(IntEnum):
    """How the vectors of a text's tokens become one; the numbers are GGUF's."""

    NONE = 0
    MEAN = 1
    CLS = 2
    LAST = 3
    RANK = 4
    """No vector at all, but how well two texts go together."""


ENCODERS = frozenset(
    {
        *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3"),
        *("eurobert", "t5encoder", "gemma-embedding", "llama-embed"),
    }
)
"""Architectures that write no text."""

_VECTORS_BY_NAME = re.compile(r"\bembed(dings?)?\b|\be5\b|\bbge\b|\bgte\b")
_INSTRUCTION = "Instruct: Given a question about a book, retrieve passages that answer it\nQuery: "
_SEARCHING = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a text begins with, by what it is to a search."""

    query: str = ""
    document: str = ""

    def of(self, kind: TextKind) -> str:
        return self.query if kind is TextKind.QUERY else self.document


# The first pattern that is found in the model's name, in lower case with hyphens between words, decides.
_FAMILIES = (
    (r"nomic-embed", Prefixes("search_query: ", "search_document: ")),
    (r"e5-mistral|e5.*-instruct|sfr-embedding|linq-embed", Prefixes(_INSTRUCTION)),
    (r"\be5\b", Prefixes("query: ", "passage: ")),
    (r"qwen3-embed|gte-qwen", Prefixes(_INSTRUCTION)),
    (r"embedding-?gemma|gemma-embedding", Prefixes("task: search result | query: ", "title: none | text: ")),
    (r"bge-.*-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(small|base|large)", Prefixes(_SEARCHING)),
    (r"arctic-embed-[a-z]+-v2", Prefixes("query: ")),
    (r"mxbai-embed|arctic-embed", Prefixes(_SEARCHING)),
    (
        r"jina-embeddings-v3",
        Prefixes("Represent the query for retrieving evidence documents: ", "Represent the document for retrieval: "),
    ),
)
_BY_ARCHITECTURE = {"gemma-embedding": "embedding-gemma", "nomic-bert-moe": "nomic-embed"}
"""Of files whose name says nothing."""


EXAMPLES = "all-minilm-l6-v2, nomic-embed-text-v1.5, bge-small-en-v1.5 or embeddinggemma-300m"
"""Names that a person may look for."""


def makes_vectors(header: GgufHeader) -> bool:
    """Whether a model was made to turn texts into vectors: by its architecture, its header or its name."""
    if header.pooling == Pooling.RANK:
        return False
    return header.architecture in ENCODERS or bool(header.pooling) or bool(_VECTORS_BY_NAME.search(_names(header)))


def check_makes_vectors(header: GgufHeader) -> None:
    """Raises EngineError for a model that was not made for it.

    llama.cpp pools the tokens of any model. But those of one that was trained to write alone are as near for any two
    texts, and what is found by them is worse than what is found by words.
    """
    if not header.architecture or not header.vocabulary:
        raise EngineError(
            f"{header.path.name} is a GGUF file without a model that reads text.",
            "Choose another (`gistread models list`).",
        )
    if not makes_vectors(header):
        what = "ranks texts" if header.pooling == Pooling.RANK else "writes text"
        raise EngineError(
            f"{header.path.name} {what}; it makes no vectors to search by.",
            f"Give --embedding-model an embedding model as GGUF, such as {EXAMPLES}.",
        )


def pooling_of(header: GgufHeader) -> Pooling:
    """How this model pools: as its header says, or as its kind does."""
    if header.pooling in (Pooling.MEAN, Pooling.CLS, Pooling.LAST):
        return Pooling(header.pooling)
    return Pooling.MEAN if header.architecture in ENCODERS else Pooling.LAST


def prefixes_of(header: GgufHeader) -> Prefixes:
    """What texts begin with for this model; nothing for a family that is not known or wants nothing."""
    names = f"{_names(header)} {_BY_ARCHITECTURE.get(header.architecture, '')}"
    return next((prefixes for pattern, prefixes in _FAMILIES if re.search(pattern, names)), Prefixes())


def _names(header: GgufHeader) -> str:
    """What the file and its makers call the model, in lower case with hyphens between words."""
    return re.sub(r"[\s_]+", "-", f"{header.name} | {header.title}".casefold())
