"""What a GGUF file is for, told from its header: text, embeddings, a part of another model, nothing of use here.

Each kind that cannot write has one reason, in words for the person: the list shows it, and whoever is asked to load
such a file says the same.
"""

import re
from enum import StrEnum

from gistread.engine.embedding_models import Pooling, makes_vectors
from gistread.engine.llama.gguf import GgufHeader
from gistread.errors import EngineError


class ModelKind(StrEnum):
    """What a file is for. The value is what `models list --json` calls it."""

    TEXT = "text"
    BASE = "base"
    """It goes on with a text, and was not taught to follow instructions: it has no chat template."""
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
"""As the converters for image and video programs call them."""
_RERANKER = re.compile(r"\bre-?rank(er|ing)?\b")

_EMBEDS = "it makes embeddings, not text"


def kind_of(header: GgufHeader, name: str) -> tuple[ModelKind, str]:
    """The kind of a file that is called `name`, and why it writes no text; empty where it does."""
    architecture, contains = header.architecture, header.contains
    words = re.sub(r"[\s_]+", "-", f"{name} | {header.title}".casefold())
    if contains == "adapter":
        return ModelKind.ADAPTER, "it is a LoRA adapter: it changes another model"
    if contains == "mmproj" or architecture in _PROJECTORS or words.startswith("mmproj"):
        return ModelKind.PROJECTOR, "it is the image part of another model"
    if architecture in _DRAFTS:
        return ModelKind.DRAFT, "it only guesses ahead for another model"
    if reason := _other(header):
        return ModelKind.OTHER, reason
    if header.pooling == Pooling.RANK or _RERANKER.search(words):
        return ModelKind.RERANKER, "it ranks texts and writes none"
    if makes_vectors(header):
        return ModelKind.EMBEDDINGS, _EMBEDS
    return (ModelKind.TEXT if header.chat_template else ModelKind.BASE), ""


def check_writes_text(header: GgufHeader) -> None:
    """Raises EngineError for a file that is no model which writes text, or not all of one."""
    kind, reason = kind_of(header, header.name)
    if kind is ModelKind.EMBEDDINGS:
        raise EngineError(
            f"{header.path.name} is an embedding model: it makes vectors, not text.",
            "Give it with --embedding-model, and with --model one that writes (`gistread models list`).",
        )
    if not reason and header.missing_bytes and header.split_count == 1:
        reason = f"it is cut off: {header.missing_bytes:,} bytes are missing"
    if reason:
        raise EngineError(f"{header.path.name} cannot be used: {reason}.", "Choose another (`gistread models list`).")


def _other(header: GgufHeader) -> str:
    """Why a file is of no kind that is known here; empty where it may be."""
    if header.contains == "imatrix":
        return "it says which weights of a model matter, and has none"
    if header.architecture in _SOUND:
        return "it makes sound"
    if header.architecture in _PICTURES:
        return "it makes pictures"
    if header.architecture in _DIFFUSION:
        return "it writes by diffusion, all of a text at once; that cannot be steered here"
    if header.architecture == "t5":
        return "it has an encoder beside what writes; that is not known here"
    if not header.vocabulary:
        return "it has no vocabulary"
    return "" if header.parameters else "it has a vocabulary and no weights"
