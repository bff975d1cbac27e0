"""Embedding models through the worker: real llama.cpp, a tiny BERT."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from gistread.engine.llama.client import LlamaEngine
from gistread.engine.llama.embedder import LlamaEmbedder
from gistread.engine.llama.gguf import read_header
from gistread.engine.model_kinds import prefixes_of
from gistread.engine.protocol import EngineState, Phase, Priority, TextKind
from gistread.errors import EngineError
from tests.tiny_bert import CLS, DIMENSION, MAX_TOKENS, write_tiny_bert
from tests.tiny_gguf import write_tiny_gguf

TEXTS = ["The lamp was a lamp.", "The sea and the storm.", "Brother!", "7 keys", "the the the the", "a house of houses"]

Make = Callable[..., LlamaEmbedder]
in_module = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "bert.gguf")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LlamaEmbedder]:
    """An embedder shared by all tests that only use it."""
    shared = LlamaEmbedder(bert, log=tmp_path_factory.mktemp("embedder") / "worker.log")
    yield shared
    await shared.close()


@pytest_asyncio.fixture(loop_scope="module")
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes embedders and closes them after the test."""
    made: list[LlamaEmbedder] = []

    def make_embedder(path: Path) -> LlamaEmbedder:
        made.append(LlamaEmbedder(path, log=tmp_path / "worker.log"))
        return made[-1]

    yield make_embedder
    for embedder in made:
        await embedder.close()


@in_module
async def test_vectors_are_normal_and_differ_between_texts(embedder: LlamaEmbedder) -> None:
    embedded = await embedder.embed(TEXTS)
    assert embedded.vectors.shape == (len(TEXTS), DIMENSION)
    assert np.linalg.norm(embedded.vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    cosines = embedded.vectors @ embedded.vectors.T
    assert (cosines - 2 * np.eye(len(TEXTS)) < 0.999).all()
    assert embedded.truncated == 0
    assert embedded.usage.prefilled > 2 * len(TEXTS)
    assert (embedder.info.dimension, embedder.info.max_tokens) == (DIMENSION, MAX_TOKENS)


@in_module
async def test_vectors_do_not_depend_on_what_else_is_embedded(embedder: LlamaEmbedder) -> None:
    many = [f"{text} {number}" for number in range(40) for text in TEXTS]  # more than a batch, and than a message
    together = (await embedder.embed(many)).vectors
    assert len(together) == len(many)
    for index in (0, 1, 50, 239):
        alone = (await embedder.embed([many[index]])).vectors[0]
        assert alone == pytest.approx(together[index], abs=1e-3)


@in_module
async def test_another_process_makes_the_same_vectors(bert: Path, embedder: LlamaEmbedder, make: Make) -> None:
    other = make(bert)
    assert np.array_equal((await embedder.embed(TEXTS)).vectors, (await other.embed(TEXTS)).vectors)
    assert embedder.info == other.info


@in_module
async def test_pooling_follows_the_header(embedder: LlamaEmbedder, make: Make, tmp_path: Path) -> None:
    first = make(write_tiny_bert(tmp_path / "cls.gguf", pooling=CLS))
    assert not np.allclose((await first.embed(TEXTS)).vectors, (await embedder.embed(TEXTS)).vectors, atol=0.01)
    assert first.info.fingerprint != embedder.info.fingerprint


@in_module
async def test_empty_texts_have_vectors_and_no_texts_have_none(embedder: LlamaEmbedder) -> None:
    assert (await embedder.embed([])).vectors.shape == (0, DIMENSION)
    vectors = (await embedder.embed(["", " \n "])).vectors
    assert np.isfinite(vectors).all()
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-5)


@in_module
async def test_long_texts_are_cut_at_a_sentence_with_one_notice(bert: Path, make: Make) -> None:
    embedder = make(bert)
    notices: list[str] = []
    embedder.watch(lambda state: notices.append(state.notice) if state.notice else None)
    sentence = "The storm was of the sea and the house. "  # ten tokens: six of them fit
    embedded = await embedder.embed([sentence * 30, sentence * 6, sentence])
    assert embedded.truncated == 1
    assert embedded.vectors[0] == pytest.approx(embedded.vectors[1], abs=1e-3)
    again = await embedder.embed(["lamp " * 100])  # no sentence in it
    assert again.truncated == 1
    assert np.linalg.norm(again.vectors) == pytest.approx(1.0, abs=1e-5)
    assert len(notices) == 1
    assert str(MAX_TOKENS) in notices[0]


@in_module
async def test_control_tokens_in_a_text_are_plain_text(embedder: LlamaEmbedder) -> None:
    usage = (await embedder.embed(["[SEP]"])).usage
    assert usage.prefilled == 2 + len("[SEP]")


@in_module
async def test_queries_and_documents_get_the_prefixes_of_the_model_family(
    embedder: LlamaEmbedder, make: Make, tmp_path: Path
) -> None:
    family = make(write_tiny_bert(tmp_path / "nomic-embed-text-v1.5.Q8_0.gguf"))
    query = (await family.embed(["the lamp"], TextKind.QUERY)).vectors
    document = (await family.embed(["the lamp"], TextKind.DOCUMENT)).vectors
    expected = (await embedder.embed(["search_query: the lamp", "search_document: the lamp"])).vectors
    assert np.concatenate([query, document]) == pytest.approx(expected, abs=1e-3)
    assert not np.allclose(query, document, atol=0.001)


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        ("all-MiniLM-L6-v2.F16", "", ""),
        ("nomic-embed-text-v1.5.Q4_K_M", "search_query: ", "search_document: "),
        ("multilingual-e5-small-Q8_0", "query: ", "passage: "),
        ("bge-small-en-v1.5-q8_0", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-m3-Q4_K_M", "", ""),
        ("snowflake-arctic-embed-m-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("embeddinggemma-300m-qat-Q8_0", "task: search result | query: ", "title: none | text: "),
        ("Mxbai Embed Large v1", "Represent this sentence for searching relevant passages: ", ""),
    ],
)
def test_model_families_are_known_by_name(tmp_path: Path, name: str, query: str, document: str) -> None:
    prefixes = prefixes_of(read_header(write_tiny_bert(tmp_path / f"{name}.gguf", name="model")))
    assert (prefixes.query, prefixes.document) == (query, document)
    if name != "model":
        same = prefixes_of(read_header(write_tiny_bert(tmp_path / "model.gguf", name=name)))
        assert same == prefixes


@in_module
async def test_text_models_do_not_embed_and_embedding_models_do_not_write(
    bert: Path, make: Make, tmp_path: Path
) -> None:
    chat = write_tiny_gguf(tmp_path / "chat.gguf")
    with pytest.raises(EngineError, match=r"chat\.gguf writes text.*\n.*such as all-minilm"):
        await make(chat).start()
    engine = LlamaEngine(bert)
    with pytest.raises(EngineError, match=r"bert\.gguf is an embedding model.*\n.*--embedding-model"):
        await engine.start()
    assert engine.worker_pid is None
    await engine.close()


@in_module
async def test_decoders_with_pooling_make_vectors(make: Make, tmp_path: Path) -> None:
    embedder = make(write_tiny_gguf(tmp_path / "decoder.gguf", llama__pooling_type=3))
    together = (await embedder.embed(TEXTS)).vectors
    alone = np.concatenate([(await embedder.embed([text])).vectors for text in TEXTS])
    assert np.linalg.norm(together, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert alone == pytest.approx(together, abs=1e-3)
    assert (together @ together.T - 2 * np.eye(len(TEXTS)) < 0.9999).all()


@in_module
async def test_a_lost_process_is_restarted(bert: Path, make: Make) -> None:
    embedder = make(bert)
    before = (await embedder.embed(TEXTS)).vectors
    states: list[EngineState] = []
    embedder.watch(states.append)
    assert embedder.worker_pid is not None
    work = asyncio.create_task(embedder.embed(TEXTS * 200))
    await asyncio.sleep(0)
    os.kill(embedder.worker_pid, signal.SIGKILL)
    assert (await work).vectors[: len(TEXTS)] == pytest.approx(before, abs=1e-3)
    assert any(state.phase is Phase.LOADING for state in states)


@in_module
async def test_interactive_requests_go_first_and_background_work_can_be_cancelled(embedder: LlamaEmbedder) -> None:
    await embedder.start()
    background = asyncio.create_task(embedder.embed(TEXTS * 3000, priority=Priority.BACKGROUND))
    await asyncio.sleep(0.05)
    question = await embedder.embed(["the lamp"], TextKind.QUERY)
    assert len(question.vectors) == 1
    assert not background.done()
    background.cancel()
    with pytest.raises(asyncio.CancelledError):
        await background
    assert len((await embedder.embed(TEXTS)).vectors) == len(TEXTS)


@in_module
async def test_a_closed_embedder_refuses_requests(bert: Path, make: Make) -> None:
    embedder = make(bert)
    await embedder.embed(TEXTS)
    await embedder.close()
    assert embedder.worker_pid is None
    with pytest.raises(EngineError, match="closed"):
        await embedder.embed(TEXTS)


@in_module
async def test_speed_is_known_after_the_first_request(bert: Path, make: Make) -> None:
    embedder = make(bert)
    await embedder.start()
    assert embedder.tokens_per_s is None
    await embedder.embed([])
    assert embedder.tokens_per_s is None
    await embedder.embed(TEXTS)
    assert embedder.tokens_per_s is not None
    assert embedder.tokens_per_s > 0
