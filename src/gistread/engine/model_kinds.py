"""Determines what a GGUF file is for, from its header, and why it cannot be used to write text."""

import re
from enum import StrEnum

from gistread.engine.embedding_models import Pooling, makes_vectors
from gistread.engine.llama.gguf import GgufHeader
from gistread.errors import EngineError


class ModelKind(StrEnum):
    """What a file is for. The value appears in `models list --json`."""

    TEXT = "text"
    BASE = "base"
    """Continues text; not trained to follow instructions, without a chat template."""
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
_PICTURES = frozenset(
    {
        *("flux", "sd1", "sd3", "sdxl", "aura", "ltxv", "hyvid", "wan", "hidream", "cosmos", "lumina2", "qwen_image"),
        *("pig", "auraflow", "chroma", "z_image"),
    }
)
"""Architecture names used by converters for image and video models."""
_RERANKER = re.compile(r"\bre-?rank(er|ing)?\b")
_LEAST_CONTEXT = 256
"""Tokens: a page and its gist have to fit."""


def kind_of(header: GgufHeader, name: str) -> tuple[ModelKind, str]:
    """The kind of a file named `name`, and why it cannot write text; empty if it can."""
    architecture, contains = header.architecture, header.contains
    words = re.sub(r"[\s_]+", "-", f"{name} | {header.title}".casefold())
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
    """Why a file cannot be used at all; empty if it can."""
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
