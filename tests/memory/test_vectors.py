"""Vectors of a memory: one set for each page, stored by content, extended with the memory."""

from pathlib import Path

import numpy as np
import pytest

from gistread.engine.protocol import Priority
from gistread.errors import EngineError
from gistread.memory.derived import DerivedRecords
from gistread.memory.model import GistMemory
from gistread.memory.vectors import Vectors, build, known_vectors, query_vector
from tests.fake_embedder import FakeEmbedder
from tests.readers.memories import FACTS, make_memory


async def vectors_of(memory: GistMemory, fake: FakeEmbedder) -> Vectors:
    async for _ in build(memory, fake):
        pass
    return known_vectors(memory, fake.info)


async def test_every_page_has_vectors_of_length_one_in_the_order_of_the_book() -> None:
    vectors = await vectors_of(make_memory(), FakeEmbedder())
    assert list(dict.fromkeys(vectors.pages)) == list(range(1, 9))
    assert list(vectors.places) == sorted(vectors.places)
    assert np.linalg.norm(vectors.matrix, axis=1) == pytest.approx(1.0, abs=1e-3)


async def test_the_score_of_a_page_is_that_of_its_nearest_passage() -> None:
    memory, fake = make_memory(), FakeEmbedder()
    vectors = await vectors_of(memory, fake)
    for number, fact in enumerate(FACTS, start=1):
        scores = vectors.page_scores(await query_vector(fact, fake))
        assert max(scores, key=scores.__getitem__) == number


async def test_passages_are_places_on_their_page() -> None:
    memory = make_memory()
    vectors = await vectors_of(memory, FakeEmbedder())
    assert len(vectors.places) > len(memory.entries)
    for (start, end), number in zip(vectors.places, vectors.pages, strict=True):
        page = memory.entry(number).page
        assert page.start <= start < end <= page.end


async def test_stored_results_are_found_by_another_process(tmp_path: Path) -> None:
    memory = make_memory()
    memory.derived = DerivedRecords(tmp_path / "memory.derived")
    made = await vectors_of(memory, FakeEmbedder())
    memory.derived = DerivedRecords(tmp_path / "memory.derived")
    again = FakeEmbedder()
    found = await vectors_of(memory, again)
    assert again.asked == []
    assert found.places == made.places
    assert np.array_equal(found.matrix, made.matrix)


async def test_a_memory_that_grows_embeds_only_its_new_pages() -> None:
    memory = make_memory(pages=5)
    await vectors_of(memory, FakeEmbedder())
    memory.entries = make_memory().entries
    fake = FakeEmbedder()
    vectors = await vectors_of(memory, fake)
    assert set(vectors.pages) == set(range(1, 9))
    assert all(any(fact[:30] in text for text in fake.documents) for fact in FACTS[5:])
    assert not any(fact[:30] in text for text in fake.documents for fact in FACTS[:5])


async def test_a_stopped_build_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gistread.memory.vectors._BATCH_TEXTS", 3)
    memory = make_memory()
    memory.derived = DerivedRecords(tmp_path / "memory.derived")
    with pytest.raises(EngineError):
        await vectors_of(memory, FakeEmbedder(fails_after=4))
    memory.derived = DerivedRecords(tmp_path / "memory.derived")
    rest, whole = FakeEmbedder(), FakeEmbedder()
    vectors = await vectors_of(memory, rest)
    other = await vectors_of(make_memory(), whole)
    assert 0 < len(rest.documents) < len(whole.documents)
    assert np.array_equal(vectors.matrix, other.matrix)


async def test_another_embedding_model_makes_vectors_of_its_own() -> None:
    memory = make_memory()
    await vectors_of(memory, FakeEmbedder())
    other = FakeEmbedder(fingerprint="another", dimension=64)
    assert (await vectors_of(memory, other)).matrix.shape[1] == 64
    assert other.documents


async def test_an_incomplete_record_is_rebuilt() -> None:
    memory = make_memory()
    fake = FakeEmbedder()
    whole = await vectors_of(memory, fake)
    records = memory.derived._records()
    for key in records:
        records[key] = {"float16": "AAAA"}
    assert np.array_equal((await vectors_of(memory, fake)).matrix, whole.matrix)


async def test_a_page_cut_at_the_bound_has_vectors_of_the_rest() -> None:
    memory = make_memory()
    page = memory.entry(3).page
    bound = page.start + 120
    fake = FakeEmbedder()
    vectors = await vectors_of(memory.upto(bound), fake)
    assert max(vectors.pages) == 3
    assert max(end for _, end in vectors.places) <= bound
    assert not any(FACTS[4] in text for text in fake.documents)


async def test_a_memory_without_pages_has_no_vectors() -> None:
    vectors = await vectors_of(make_memory(pages=0), FakeEmbedder())
    assert vectors.places == ()
    assert vectors.matrix.shape == (0, 512)
    assert vectors.page_scores(np.ones(512, np.float32)) == {}


async def test_pages_are_embedded_as_urgently_as_asked() -> None:
    fake = FakeEmbedder()
    async for _ in build(make_memory(), fake, Priority.BACKGROUND):
        pass
    assert {priority for _, _, priority in fake.asked} == {Priority.BACKGROUND}
