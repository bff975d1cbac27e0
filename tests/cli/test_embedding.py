"""`--embedding-model` and the reader that needs one, on the command line."""

from pathlib import Path

import pytest

from gistread.errors import ExitStatus
from tests.cli.conftest import Run
from tests.fake_engine import FakeEngine
from tests.tiny_bert import write_tiny_bert
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return write_tiny_bert(tmp_path / "tiny-bert.gguf")


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which models are looked for."""
    folder = tmp_path / "places"
    folder.mkdir()
    monkeypatch.setattr("gistread.engine.model_search.model_folders", lambda: [("", folder)])
    monkeypatch.setattr("gistread.engine.model_search.jan_folders", list)
    monkeypatch.setattr("gistread.engine.model_search.ollama_folders", list)
    monkeypatch.setattr("gistread.engine.model_search.starter_path", lambda: None)
    return folder


def test_dense_answers_with_a_named_embedding_model(run: Run, book: Path, bert: Path, engine: FakeEngine) -> None:
    ran = run(
        "ask", book, "Who counted the stairs?", "--index", "--reader", "dense", "--embedding-model", bert, "--json"
    )
    assert ran.status == ExitStatus.DONE, ran.err
    assert ran.json["reader"] == "dense"
    assert ran.json["lookups"]


def test_a_missing_embedding_model_is_reported_before_a_model_is_loaded(run: Run, book: Path, models: Path) -> None:
    ran = run("ask", book, "Who?", "--index", "--reader", "dense")
    assert ran.status == ExitStatus.ENGINE
    assert ran.err.count("\n") == 2
    assert "--embedding-model" in ran.err


def test_the_only_embedding_model_is_used_and_several_are_an_error(
    run: Run, book: Path, models: Path, engine: FakeEngine
) -> None:
    write_tiny_bert(models / "one.gguf")
    command = ("ask", book, "Who counted the stairs?", "--index", "--reader", "dense")
    assert run(*command).status == ExitStatus.DONE
    write_tiny_bert(models / "two.gguf")
    ran = run(*command)
    assert ran.status == ExitStatus.ENGINE
    assert "several embedding models: one, two." in ran.err


def test_a_text_model_is_refused_as_embedding_model(run: Run, book: Path, models: Path) -> None:
    write_tiny_gguf(models / "chat.gguf")
    ran = run("ask", book, "Who?", "--index", "--reader", "dense", "--embedding-model", "chat")
    assert ran.status == ExitStatus.ENGINE
    assert "chat.gguf writes text" in ran.err
    assert ran.err.count("\n") == 2


def test_an_unknown_embedding_model_lists_those_there_are(run: Run, book: Path, models: Path) -> None:
    command = ("ask", book, "Who?", "--index", "--reader", "dense", "--embedding-model", "other")
    assert "No embedding model was found" in run(*command).err
    write_tiny_bert(models / "vectors.gguf")
    write_tiny_gguf(models / "chat.gguf")
    assert "Available: vectors." in run(*command).err


def test_other_readers_need_no_embedding_model(run: Run, book: Path, models: Path, engine: FakeEngine) -> None:
    assert run("ask", book, "Who counted the stairs?", "--index", "--reader", "bm25").status == ExitStatus.DONE


def test_the_settings_may_name_an_embedding_model(
    run: Run, book: Path, home: Path, bert: Path, engine: FakeEngine
) -> None:
    config = home / "XDG_CONFIG_HOME" / "gistread" / "config.toml"
    config.write_text(config.read_text() + f'embedding_model = "{bert}"\n')
    assert run("ask", book, "Who counted?", "--index", "--reader", "dense").status == ExitStatus.DONE


def test_index_builds_the_vectors_once(run: Run, book: Path, bert: Path, engine: FakeEngine) -> None:
    first = run("index", book, "--embedding-model", bert)
    assert first.status == ExitStatus.DONE, first.err
    assert "Vectors: built" in first.err
    assert "exist already." in run("index", book, "--for", "dense", "--embedding-model", bert).err


def test_the_list_marks_embedding_models_and_never_offers_one_to_write(run: Run, models: Path, home: Path) -> None:
    write_tiny_bert(models / "vectors.gguf")
    ran = run("models", "list")
    assert "parameters · for --embedding-model" in ran.out
    (document,) = run("models", "list", "--json").json["models"]
    assert (document["usable"], document["problem"]) == (False, "it makes embeddings, not text")
    assert run("models", "use", "vectors").status == ExitStatus.ENGINE
    assert run("models", "use", models / "vectors.gguf").status == ExitStatus.ENGINE


def test_a_model_that_cannot_be_loaded_is_an_error_of_index_too(
    run: Run, book: Path, bert: Path, engine: FakeEngine
) -> None:
    bert.write_bytes(bert.read_bytes()[:-2000])
    ran = run("index", book, "--embedding-model", bert)
    assert ran.status == ExitStatus.ENGINE
    assert "tiny-bert.gguf is cut off" in ran.err
