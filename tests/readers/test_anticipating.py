"""What is evaluated while a question is typed is the beginning of the prompts that answer it."""

from gistread.memory.model import GistMemory
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.anticipating import anticipate
from gistread.readers.auto import auto
from gistread.readers.model_class import SMALL
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory
from tests.readers.test_one_by_one import long_memory


def asking(question: str, memory: GistMemory, engine: FakeEngine) -> Asking:
    return Asking(question, memory, engine, Steering(), ReaderOptions(model=SMALL))


async def test_the_passages_asked_one_by_one_are_evaluated_in_advance() -> None:
    memory = long_memory()
    engine = FakeEngine()
    await anticipate(asking("Who commanded the", memory, engine), "auto")
    assert engine.prepared
    async for _ in auto(asking("Who commanded the brig?", memory, engine)):
        pass
    prompts = [call.text for call in engine.calls if call.kind == "complete"]
    assert prompts
    assert all(
        any(text.startswith(begun) for begun in engine.prepared) for text in prompts
    )


async def test_a_text_shown_whole_is_evaluated_in_advance() -> None:
    memory = make_memory(6, 6)
    engine = FakeEngine()
    await anticipate(asking("Who fixed the", memory, engine), "auto")
    (begun,) = engine.prepared
    async for _ in auto(asking("Who fixed the date?", memory, engine)):
        pass
    assert engine.calls[-1].text.startswith(begun)


async def test_nothing_is_evaluated_before_the_third_word() -> None:
    engine = FakeEngine()
    await anticipate(asking("Who com", long_memory(), engine), "auto")
    assert not engine.prepared
