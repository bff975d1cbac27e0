"""The sources of an answer whose model cited none."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gistread.engine.protocol import Choice, Priority, Prompt
from gistread.errors import EngineError
from gistread.memory.model import GistMemory, PageSize
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.citations import cite, with_cited_sentences
from gistread.readers.events import Answered
from gistread.readers.evidence import citation_of
from gistread.readers.model_class import LARGE
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.readers.memories import FACTS, make_memory

DOUBTFUL = "He drank, and he had a leg of wood."
QUESTION = "What did Ferrand do?"
GERMAN = "Er gestand, dass er den Schlüssel gestohlen hatte."
OPEN = "Ferrand confessed that he had stolen the key to find the ledger that would hang him."


class Failing(FakeEngine):
    async def choose(self, *_: object) -> Choice:
        raise EngineError("It stopped.")


class Listing(FakeEngine):
    """Keeps the texts of its choices."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        self.texts.append(prompt[-1].content)
        return await super().choose(prompt, options, priority)


async def sources(engine: FakeEngine, reply: str = DOUBTFUL) -> list[str]:
    engine._says = lambda _: reply
    events = METHODS["gistread"].reader()(
        Asking(
            "What did Ferrand do?",
            make_memory(),
            engine,
            Steering(),
            ReaderOptions(model=LARGE),
        )
    )
    answered = [event async for event in events][-1]
    assert isinstance(answered, Answered)
    assert answered.answer == reply
    return [citation.quote for citation in answered.citations]


async def test_the_model_names_the_first_source_where_several_sentences_are_as_near() -> (
    None
):
    by_words, engine = await sources(FakeEngine()), FakeEngine()
    assert len(by_words) > 1
    engine.source = 1
    assert (await sources(engine))[0] == by_words[1]


async def test_an_answer_is_kept_if_its_model_fails_when_it_is_asked_for_the_source() -> (
    None
):
    assert await sources(Failing()) == await sources(FakeEngine())


async def test_the_model_is_not_asked_where_one_sentence_is_much_nearer() -> None:
    engine = FakeEngine()
    engine.source = 1
    assert await sources(engine, OPEN) == [FACTS[7]]


async def test_an_answer_that_no_sentence_tells_has_no_source() -> None:
    engine = FakeEngine()
    engine.source = -1
    assert await sources(engine) == []


async def test_what_the_book_does_not_say_has_no_source() -> None:
    engine = FakeEngine()
    assert await sources(engine, "The name of his wife is not given in the text.") == []


async def test_the_model_names_the_cited_sentence_of_an_answer_in_another_language() -> (
    None
):
    sentences = [
        "The baker of the valley slept in his chair.",
        "A brown hen laid two eggs a day.",
        "The rain that had begun in the morning fell on the roofs of the whole village.",
    ]
    book = make_book([" ".join(sentences)])
    memory = GistMemory(book, PageSize(50, 150), "")
    engine = FakeEngine()
    engine.source = 1
    answered = Answered(
        "",
        citations=(citation_of((0, len(sentences[0])), memory),),
        cited=((0, len(book.text)),),
    )
    quotes: list[str] = []
    for question in (
        "Que fait la poule dans la cour ?",
        "What does the hen do all day?",
    ):
        asking = Asking(
            question, memory, engine, Steering(), ReaderOptions(model=LARGE)
        )
        named = await with_cited_sentences(
            replace(answered, answer=question), asking, ()
        )
        quotes += [citation.quote for citation in named.citations]
    assert quotes == [sentences[1], sentences[0]]


async def test_a_long_sentence_is_offered_with_its_end() -> None:
    road = "along the road that led past the mill and the chapel and the pond " * 4
    long = f"The brown hen walked {road}and laid two eggs."
    sentences = [
        "The baker slept in his chair.",
        long,
        "Rain fell on the roofs of the village.",
    ]
    memory = GistMemory(make_book([" ".join(sentences)]), PageSize(50, 150), "")
    engine = Listing()
    engine.source = 1
    asking = Asking(
        "Que fait la poule ?", memory, engine, Steering(), ReaderOptions(model=LARGE)
    )
    answered = Answered(
        "Elle pond deux œufs.",
        citations=(citation_of((0, len(sentences[0])), memory),),
        cited=((0, len(memory.book.text)),),
    )
    named = await with_cited_sentences(answered, asking, ())
    assert [citation.quote for citation in named.citations] == [long]
    assert any("and laid two eggs." in text for text in engine.texts)


def as_cited(
    memory: GistMemory, answer: str, engine: FakeEngine
) -> tuple[Answered, Asking]:
    """An answer that cites the whole book as [1], and the question that it answers."""
    whole = (0, len(memory.book.text))
    nearest = cite(answer, QUESTION, memory, [whole], [whole])
    asking = Asking(QUESTION, memory, engine, Steering(), ReaderOptions(model=LARGE))
    return Answered(answer, citations=nearest, cited=(whole,)), asking


async def test_the_model_names_the_sentence_of_a_long_place_if_two_are_almost_as_near() -> (
    None
):
    memory = make_memory()
    answer = "Ferrand drank and had a leg of wood [1]."
    engine = FakeEngine()
    by_words, asking = as_cited(memory, answer, engine)
    engine.source = 1
    named = await with_cited_sentences(by_words, asking, ())
    assert {citation.quote for citation in (*by_words.citations, *named.citations)} == {
        FACTS[2],
        FACTS[3],
    }


async def test_no_sentence_of_a_place_is_asked_for_if_one_is_much_nearer() -> None:
    memory = make_memory()
    answer = "He confessed that he had stolen the key to find the ledger [1]."
    engine = FakeEngine()
    by_words, asking = as_cited(memory, answer, engine)
    engine.source = 1
    named = await with_cited_sentences(by_words, asking, ())
    assert named.citations == by_words.citations
    assert [citation.quote for citation in named.citations] == [FACTS[7]]


PEOPLE = (
    "A man named Hislop, a friend of Turnbull’s, came in to breakfast.",
    "He made up his mind that I was a pack-shepherd from those parts.",
)
RAIN = "It rained on the hills again that day, and nobody went out of the cottage by the burn. "


async def test_the_model_is_asked_about_long_places_with_the_sentences_that_are_near() -> (
    None
):
    answer = "- A pack-shepherd, as Hislop, the friend of Turnbull, takes him to be [1]"
    offered: list[list[str]] = []
    for rain in (RAIN, 80 * RAIN):
        book = make_book(
            [f"{PEOPLE[0]} {rain}", f"{rain}He knew Turnbull. {PEOPLE[1]}"]
        )
        engine = Listing()
        engine.source = 1
        by_words, asking = as_cited(
            GistMemory(book, PageSize(50, 150), ""), answer, engine
        )
        assert by_words.citations[0].quote == PEOPLE[0]
        named = await with_cited_sentences(by_words, asking, ())
        offered.append(engine.texts)
    assert named.citations[0].quote == PEOPLE[1]
    assert offered[0] == []
    prompt = offered[1][0]
    assert prompt.startswith(f"1. {PEOPLE[0]}\n2. {PEOPLE[1]}\n\n---")
    assert (
        "Answer: A pack-shepherd, as Hislop, the friend of Turnbull, takes him to be\n"
        in prompt
    )


async def test_the_model_is_not_asked_if_a_sentence_of_a_page_has_most_of_the_statement() -> (
    None
):
    owl = "The owl that lives in the old tower by the mill hunts mice at night."
    twin = "The owl that lives in the old tower by the mill sleeps all day."
    book = make_book([f"{owl} {twin} {9 * RAIN}"])
    engine = Listing()
    answer = "The owl of the tower by the mill hunts mice [1]."
    by_words, asking = as_cited(GistMemory(book, PageSize(50, 150), ""), answer, engine)
    named = await with_cited_sentences(by_words, asking, ())
    assert [citation.quote for citation in named.citations] == [owl]
    assert engine.texts == []


async def sources_of_german(
    says: Callable[[str], str], engine: FakeEngine
) -> list[str]:
    engine._says = says
    asking = Asking(
        "Wann stahl er?", make_memory(), engine, Steering(), ReaderOptions(model=LARGE)
    )
    events = METHODS["gistread"].reader()(asking)
    answered = [event async for event in events][-1]
    assert isinstance(answered, Answered)
    assert answered.answer == GERMAN
    return [citation.quote for citation in answered.citations]


async def test_an_answer_in_another_language_is_traced_by_the_models_translation() -> (
    None
):
    def says(prompt: str) -> str:
        return OPEN if "in the language of the book" in prompt else GERMAN

    assert await sources_of_german(says, FakeEngine()) == [FACTS[7]]
    assert await sources_of_german(lambda _: GERMAN, FakeEngine()) == []
