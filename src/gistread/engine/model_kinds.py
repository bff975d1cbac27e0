"""Determines what a GGUF file is for (text, vectors or neither), and the prompt prefixes of embedding models."""

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from gistread.engine.llama.gguf import GgufHeader
from gistread.engine.protocol import TextKind
from gistread.errors import EngineError


class ModelKind(StrEnum):
    """What a file is for. The value appears in `models list --json`."""

    TEXT = "text"
    BASE = "base"  # Continues text; not trained to follow instructions, without a chat template
    EMBEDDINGS = "embeddings"
    RERANKER = "reranker"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    DRAFT = "draft"
    PART = "part"
    OTHER = "other"
    BROKEN = "broken"


WRITING = frozenset({ModelKind.TEXT, ModelKind.BASE})

_PROJECTORS = frozenset({"clip", "mmproj"})
_DRAFTS = frozenset({"eagle3", "dflash", "gemma4-assistant"})
_DIFFUSION = frozenset({"dream", "llada", "llada-moe", "rnd1"})
_SOUND = frozenset({"wavtokenizer-dec", "qwen3tts", "pockettts", "whisper", "csm", "kokoro", "parler-tts", "dia"})
# Architecture names used by converters for image and video models.
_PICTURES = frozenset(
    {
        *("flux", "sd1", "sd3", "sdxl", "aura", "ltxv", "hyvid", "wan", "hidream", "cosmos", "lumina2", "qwen_image"),
        *("pig", "auraflow", "chroma", "z_image"),
    }
)
_RERANKER = re.compile(r"\bre-?rank(er|ing)?\b")
_LEAST_CONTEXT = 256  # Tokens: a page and its gist have to fit


def kind_of(header: GgufHeader, name: str) -> tuple[ModelKind, str]:
    """The kind of a file named `name`, and why it cannot write text; empty if it can."""
    architecture, contains = header.architecture, header.contains
    words = _words(name, header.title)
    if contains == "adapter":
        return ModelKind.ADAPTER, "it is a LoRA adapter for another model"
    if contains == "mmproj" or architecture in _PROJECTORS or words.startswith("mmproj"):
        return ModelKind.PROJECTOR, "it is the image projector of another model"
    if architecture in _DRAFTS:
        return ModelKind.DRAFT, "it is a draft model for another model"
    if reason := _other(header):
        return ModelKind.OTHER, reason
    if header.pooling == Pooling.RANK or _RERANKER.search(words):
        return ModelKind.RERANKER, "it is a reranker"
    if makes_vectors(header):
        return ModelKind.EMBEDDINGS, "it makes embeddings, not text"
    return (ModelKind.TEXT if header.chat_template else ModelKind.BASE), ""


def check_writes_text(header: GgufHeader) -> None:
    """Raises EngineError unless the file is a complete model that writes text."""
    kind, reason = kind_of(header, header.name)
    if kind is ModelKind.EMBEDDINGS:
        raise EngineError(
            f"{header.path.name} is an embedding model and cannot write text.",
            "Use it with --embedding-model, and another with --model (`gistread models list`).",
        )
    if not reason and header.missing_bytes and header.split_count == 1:
        reason = f"it is cut off: {header.missing_bytes:,} bytes are missing"
    if not reason and 0 < header.context_length < _LEAST_CONTEXT:
        reason = f"it was trained for {header.context_length} tokens, too few to read a page"
    if reason:
        raise EngineError(f"{header.path.name} cannot be used: {reason}.", "Choose another (`gistread models list`).")


def _other(header: GgufHeader) -> str:
    if header.contains == "imatrix":
        return "it is an importance matrix, not a model"
    if header.architecture in _SOUND:
        return "it generates audio"
    if header.architecture in _PICTURES:
        return "it generates images"
    if header.architecture in _DIFFUSION:
        return "it is a diffusion language model, which is not supported"
    if header.architecture == "t5":
        return "it is an encoder-decoder model, which is not supported"
    if not header.vocabulary:
        return "it has no vocabulary"
    return "" if header.parameters else "it contains no weights"


class Pooling(IntEnum):
    """How token vectors become one vector; numbered as in GGUF."""

    NONE = 0
    MEAN = 1
    CLS = 2
    LAST = 3
    RANK = 4  # A score for two texts, not a vector: a reranker


# Encoder architectures, which write no text.
ENCODERS = frozenset(
    {
        *("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3"),
        *("eurobert", "t5encoder", "gemma-embedding", "llama-embed"),
    }
)

_VECTORS_BY_NAME = re.compile(r"\bembed(dings?)?\b|\be5\b|\bbge\b|\bgte\b")
_INSTRUCTION = "Instruct: Given a question about a book, retrieve passages that answer it\nQuery: "
_SEARCHING = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Prefixes:
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
# Family by architecture, for files whose name does not tell.
_BY_ARCHITECTURE = {"gemma-embedding": "embedding-gemma", "nomic-bert-moe": "nomic-embed"}


EXAMPLES = "all-minilm-l6-v2, nomic-embed-text-v1.5, bge-small-en-v1.5 or embeddinggemma-300m"


def makes_vectors(header: GgufHeader) -> bool:
    """Whether this is an embedding model, by its architecture, header or name."""
    if header.pooling == Pooling.RANK:
        return False
    return (
        header.architecture in ENCODERS
        or bool(header.pooling)
        or bool(_VECTORS_BY_NAME.search(_words(header.name, header.title)))
    )


def check_makes_vectors(header: GgufHeader) -> None:
    """Raises EngineError unless this is an embedding model; vectors of other models search worse than words."""
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
    names = f"{_words(header.name, header.title)} {_BY_ARCHITECTURE.get(header.architecture, '')}"
    return next((prefixes for pattern, prefixes in _FAMILIES if re.search(pattern, names)), Prefixes())


def _words(name: str, title: str) -> str:
    return re.sub(r"[\s_]+", "-", f"{name} | {title}".casefold())
