"""Facts about families of embedding models: which models they are, their pooling, the prefixes they were trained with.

Many embedding models expect different prefixes for queries and documents. Files do not contain them, so they are looked
up by the model's name.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.protocol import TextKind
from gistread.errors import EngineError


class Pooling(IntEnum):
    """How token vectors become one vector; numbered as in GGUF."""

    NONE = 0
    MEAN = 1
    CLS = 2
    LAST = 3
    RANK = 4
    """A score for two texts, not a vector: a reranker."""


ENCODERS = frozenset(
    {
        *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3"),
        *("eurobert", "t5encoder", "gemma-embedding", "llama-embed"),
    }
)
"""Encoder architectures, which write no text."""

_VECTORS_BY_NAME = re.compile(r"\bembed(dings?)?\b|\be5\b|\bbge\b|\bgte\b")
_INSTRUCTION = "Instruct: Given a question about a book, retrieve passages that answer it\nQuery: "
_SEARCHING = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Prefixes of queries and documents."""

    query: str = ""
    document: str = ""

    def of(self, kind: TextKind) -> str:
        return self.query if kind is TextKind.QUERY else self.document


# The first pattern found in the model's name (lower case, words joined by hyphens) decides.
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
"""Family by architecture, for files whose name does not tell."""


EXAMPLES = "all-minilm-l6-v2, nomic-embed-text-v1.5, bge-small-en-v1.5 or embeddinggemma-300m"
"""Models to suggest."""


def makes_vectors(header: GgufHeader) -> bool:
    """Whether this is an embedding model, by its architecture, header or name."""
    if header.pooling == Pooling.RANK:
        return False
    return header.architecture in ENCODERS or bool(header.pooling) or bool(_VECTORS_BY_NAME.search(_names(header)))


def check_makes_vectors(header: GgufHeader) -> None:
    """Raises EngineError unless this is an embedding model.

    llama.cpp can pool the tokens of any model, but vectors of models trained only to write find less than words do.
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
    if header.missing_bytes:
        cut = f"The model file {header.path.name} is cut off: {header.missing_bytes:,} bytes are missing."
        raise EngineError(cut, "Fetch it again.")


def pooling_of(header: GgufHeader) -> Pooling:
    """Pooling of a model: as in its header, else the default of its architecture."""
    if header.pooling in (Pooling.MEAN, Pooling.CLS, Pooling.LAST):
        return Pooling(header.pooling)
    return Pooling.MEAN if header.architecture in ENCODERS else Pooling.LAST


def prefixes_of(header: GgufHeader) -> Prefixes:
    """Prefixes of a model's family; empty if it has none or is unknown."""
    names = f"{_names(header)} {_BY_ARCHITECTURE.get(header.architecture, '')}"
    return next((prefixes for pattern, prefixes in _FAMILIES if re.search(pattern, names)), Prefixes())


def _names(header: GgufHeader) -> str:
    """File name and title, in lower case with words joined by hyphens."""
    return re.sub(r"[\s_]+", "-", f"{header.name} | {header.title}".casefold())
