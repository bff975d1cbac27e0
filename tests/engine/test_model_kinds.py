"""The kind of a model file, detected from its header, and its description."""

from pathlib import Path

import pytest

from gistread.engine.llama.fit import ModelSizes
from gistread.engine.llama.gguf import read_header
from gistread.engine.llama.kv_layout import MemoryKind
from gistread.engine.model_files import Availability, ModelFile, availability_of, describe, memory_fit_of
from gistread.engine.model_kinds import ModelKind, check_writes_text
from gistread.engine.model_search import FoundModel
from gistread.engine.model_text import facts, format_count, memory_fit_text, other_facts
from gistread.errors import EngineError
from tests.engine.test_models import gguf


@pytest.mark.parametrize(
    ("architecture", "more", "name", "kind", "reason"),
    [
        ("llama", {}, "tiny", ModelKind.TEXT, ""),
        ("qwen35", {}, "tiny", ModelKind.TEXT, ""),
        ("nomic-bert", {}, "tiny", ModelKind.EMBEDDINGS, "makes embeddings"),
        ("qwen3", {}, "Qwen3-Embedding-0.6B", ModelKind.EMBEDDINGS, "makes embeddings"),
        ("qwen3", {"qwen3__pooling_type": 4}, "tiny", ModelKind.RERANKER, "reranker"),
        ("bert", {}, "bge-reranker-v2-m3", ModelKind.RERANKER, "reranker"),
        ("clip", {}, "tiny", ModelKind.PROJECTOR, "image projector"),
        ("llama", {"general__type": "mmproj"}, "tiny", ModelKind.PROJECTOR, "image projector"),
        ("llama", {"general__type": "adapter"}, "tiny", ModelKind.ADAPTER, "LoRA adapter"),
        ("llama", {"general__type": "imatrix"}, "tiny", ModelKind.OTHER, "importance matrix"),
        ("eagle3", {}, "tiny", ModelKind.DRAFT, "draft model"),
        ("llada", {}, "tiny", ModelKind.OTHER, "diffusion"),
        ("t5", {}, "tiny", ModelKind.OTHER, "encoder"),
        ("flux", {}, "tiny", ModelKind.OTHER, "images"),
        ("wavtokenizer-dec", {}, "tiny", ModelKind.OTHER, "audio"),
        ("llama", {"split__count": 3, "split__no": 1}, "tiny", ModelKind.PART, "part 2 of 3"),
    ],
)
def test_the_kind_of_a_file_follows_its_header(
    tmp_path: Path, architecture: str, more: dict[str, str | int], name: str, kind: ModelKind, reason: str
) -> None:
    model = describe(FoundModel(name, (gguf(tmp_path / f"{name}.gguf", architecture, **more),)))
    assert (model.kind, model.usable) == (kind, not reason)
    assert reason in model.problem


def test_a_model_without_a_template_is_a_base_model_and_can_be_used(tmp_path: Path) -> None:
    model = describe(FoundModel("base", (gguf(tmp_path / "base.gguf", tokenizer__chat_template=""),)))
    assert (model.kind, model.usable, model.has_template) == (ModelKind.BASE, True, False)
    assert "base model, without a chat template" in facts(model)


def test_files_that_disagree_on_their_number_are_broken(tmp_path: Path) -> None:
    parts = tuple(gguf(tmp_path / f"m-0000{n}-of-00002.gguf", split__count=3, split__no=n - 1) for n in (1, 2))
    model = describe(FoundModel("m", parts))
    assert (model.kind, model.problem) == (ModelKind.BROKEN, "it has 2 files, but according to them 3")


def test_a_vocabulary_alone_is_no_model(tmp_path: Path) -> None:
    model = describe(FoundModel("vocab", (gguf(tmp_path / "vocab.gguf", weights=0),)))
    assert model.problem == "it contains no weights"


def sized(context: int | None = 32_768, **changes: object) -> ModelFile:
    """A model of 2 GB that takes 100 kB for a token."""
    plain: dict[str, object] = {
        "path": Path("/m.gguf"),
        "name": "m",
        "size_bytes": 2 * 10**9,
        "quantization": "Q4_K_M",
        "architecture": "llama",
        "context_length": context,
        "parameters": 4_000_000_000,
        "licence": "mit",
        "usable": True,
        "memory": MemoryKind.ATTENTION,
        "sizes": ModelSizes(weights=2 * 10**9, layers=32, cell=100_000, states=0, scratch=10**8),
    }
    return ModelFile(**{**plain, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("free", "context", "words", "standing"),
    [
        (8_000_000_000, 32_768, "fits, with its whole context", Availability.READY),
        (4_600_000_000, 32_768, "fits, with 25,000 tokens of context", Availability.READY),
        (2_400_000_000, 32_768, "fits, with 3,000 tokens of context", Availability.READY),
        (2_300_000_000, 32_768, "too large for now: it needs 2.9 GB, 2.3 GB are free", Availability.TOO_LARGE),
        (1_000_000_000, 32_768, "too large for now: it needs 2.9 GB, 1.0 GB are free", Availability.TOO_LARGE),
        (2_220_000_000, 1_024, "fits, with its whole context", Availability.READY),
        (8_000_000_000, None, "fits", Availability.READY),
    ],
)
def test_the_fit_of_a_model_is_described_with_its_window(
    free: int, context: int | None, words: str, standing: Availability
) -> None:
    model = sized(context)
    fit = memory_fit_of(model, free)
    assert memory_fit_text(model, fit) == words
    assert availability_of(model, fit) is standing


def test_an_unknown_size_gives_no_fit() -> None:
    model = sized(sizes=None)
    assert memory_fit_of(model, 10**9) is None
    assert memory_fit_text(model, None) == ""
    assert availability_of(model, None) is Availability.READY


def test_facts_are_described_in_plain_words() -> None:
    model = sized(memory=MemoryKind.RECURRENT, parts=3, place="Ollama")
    assert facts(model) == ["2.0 GB", "Q4_K_M", "4.0 B parameters"]
    assert other_facts(model) == [
        "trained for 32,768 tokens",
        "recurrent: the beginning of a long text fades",
        "mit",
        "3 files",
        "Ollama",
    ]
    assert [format_count(count) for count in (5, 134_515_008, 999_600_000)] == ["1 M", "135 M", "1.0 B"]


@pytest.mark.parametrize(
    ("architecture", "more", "said"),
    [
        ("llama", {"general__type": "adapter"}, "m.gguf cannot be used: it is a LoRA adapter"),
        ("clip", {}, "m.gguf cannot be used: it is the image projector"),
        ("dream", {}, "m.gguf cannot be used: it is a diffusion"),
        ("bert", {}, "m.gguf is an embedding model"),
    ],
)
def test_what_writes_no_text_is_refused_before_it_is_loaded(
    tmp_path: Path, architecture: str, more: dict[str, str | int], said: str
) -> None:
    with pytest.raises(EngineError) as caught:
        check_writes_text(read_header(gguf(tmp_path / "m.gguf", architecture, **more)))
    assert caught.value.message.startswith(said)


def test_a_file_that_is_cut_off_is_refused_and_a_part_is_not(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="it is cut off: 10 bytes are missing"):
        check_writes_text(read_header(gguf(tmp_path / "m.gguf", lacking=10)))
    check_writes_text(read_header(gguf(tmp_path / "m-00001-of-00002.gguf", split__count=2)))
    check_writes_text(read_header(gguf(tmp_path / "base.gguf", tokenizer__chat_template="")))
