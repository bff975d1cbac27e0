"""The story so far: whole sentences with their places, nothing from behind the place."""

from dataclasses import replace

from gistread.memory import tree
from gistread.memory.model import GistMemory, PageSize
from gistread.readers.recap import describe_sources, recap
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.readers.memories import make_memory


def test_it_is_told_from_the_gists_up_to_the_place() -> None:
    memory = make_memory()
    whole = recap(memory)
    assert whole.pages == len(memory.entries)
    told = [*whole.before, *whole.chapter]
    assert told
    for one in told:
        page = memory.page_at(one.start)
        assert page is not None
        assert one.text in " ".join(memory.entry(page.number).gist.text.split())
    assert [one.start for one in told] == sorted(one.start for one in told)
    assert describe_sources(whole) == "from the gists of 8 pages"
    end = memory.entry(2).page.end
    bounded = recap(memory.upto(end))
    assert bounded.pages == 2
    assert all(one.start < end for one in (*bounded.before, *bounded.chapter))
    assert bounded.stopped is not None
    assert bounded.stopped[1] <= end


def test_the_front_matter_is_not_told() -> None:
    memory = make_memory()
    first, *others = memory.book.chapters
    book = replace(memory.book, chapters=(replace(first, title="Imprint"), *others))
    story = recap(replace(memory, book=book))
    assert story.pages == 7
    assert all(one.start >= first.end for one in (*story.before, *story.chapter))


async def test_summaries_that_are_there_tell_the_story_before() -> None:
    memory = make_memory(pages=20, total=20)
    engine = FakeEngine()
    async for _ in tree.build(memory, engine):
        pass
    story = recap(memory)
    assert story.summaries
    texts = [" ".join(node.summary.text.split()) for node in tree.existing_summaries(memory, 14)]
    assert len(texts) < 14
    assert all(any(one.text in text for text in texts) for one in story.before)
    assert "summaries of" in describe_sources(story)
    calls = len(engine.calls)
    assert recap(memory.upto(memory.entry(2).page.end)).summaries == 0
    assert len(engine.calls) == calls


def test_without_gists_it_is_told_in_the_sentences_of_the_chapter() -> None:
    book = make_book(
        ["Mr. Penn came to the farm, and Mr. Penn rang the bell. Nobody came to the door for a long time."]
    )
    story = recap(GistMemory(book, PageSize(50, 150), ""))
    assert story.pages == 0
    assert story.chapter
    assert all(book.text[one.start :].startswith(one.text) for one in story.chapter)
    assert story.people == ("Mr. Penn",)


def test_notes_of_the_transcriber_are_not_told() -> None:
    note = "[Transcriber's Note: Extensive research did not uncover any evidence that the copyright was renewed.]"
    scene = "Martha Quill set the lifeboat down with care and stared in silence at the city beyond the reef."
    book = make_book([note, scene, scene.replace("city", "tower")])
    told = recap(GistMemory(book, PageSize(50, 150), "")).chapter
    assert told
    assert not any("research" in one.text for one in told)


def test_at_the_very_beginning_there_is_nothing_to_tell() -> None:
    memory = GistMemory(make_book(["It rained."]), PageSize(50, 150), "")
    story = recap(memory.upto(0))
    assert (story.before, story.chapter, story.people, story.stopped) == ((), (), (), None)
