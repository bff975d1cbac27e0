"""The story so far: whole sentences with their places, nothing from behind the place."""

from dataclasses import replace
from itertools import pairwise

from gistread.book.open import open_book
from gistread.engine.protocol import NO_USAGE
from gistread.memory import tree
from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.readers.quoting import _story_places
from gistread.readers.recap import (
    RECAP_WORDS,
    describe_sources,
    paragraph_text,
    paragraphs_by_chapter,
    recap,
)
from gistread.sample import story_path
from gistread.words import count_words
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book
from tests.readers.memories import make_memory


def test_it_is_told_from_gists_or_text_in_the_order_of_the_book() -> None:
    memory = make_memory()
    whole = recap(memory)
    assert whole.pages == len(memory.entries)
    sentences = [*whole.before, *whole.chapter]
    assert sentences
    for sentence in sentences:
        page = memory.page_at(sentence.start)
        assert page is not None
        sources = (memory.entry(page.number).gist.text, memory.text_of(page))
        assert any(sentence.text in " ".join(source.split()) for source in sources)
    starts = [sentence.start for sentence in sentences]
    assert starts == sorted(starts)
    assert describe_sources(whole) == "from the gists of 8 sections"


def test_it_is_told_up_to_the_place() -> None:
    memory = make_memory()
    end = memory.entry(2).page.end
    bounded = recap(memory.upto(end))
    assert bounded.pages == 2
    assert all(sentence.start < end for sentence in (*bounded.before, *bounded.chapter))
    assert bounded.stopped is not None
    assert bounded.stopped[1] <= end


def test_the_book_is_quoted_where_a_gist_says_something_else() -> None:
    page = (
        "One man was missing from the boat, and the keeper counted again. Nobody said a word "
        "until the tide turned."
    )
    book = make_book([page, "The keeper lit the lamp at nine."])
    texts = []
    for gist in (
        "One man is missing.",
        "Four men were missing from the boat.",
        "They asked Zed for the man missing from the boat.",
    ):
        entry = MemoryEntry(Page(1, 0, len(page), 20), Gist(gist, 5, GistSource.MODEL))
        memory = GistMemory(book, PageSize(5, 50), "m", [entry])
        texts += [sentence.text for sentence in recap(memory).chapter]
    assert texts == [
        "One man is missing.",
        *2 * ["One man was missing from the boat, and the keeper counted again."],
    ]


async def test_summaries_tell_the_story_before_whose_gists_are_too_long() -> None:
    memory = make_memory(pages=20, total=20)
    engine = FakeEngine()
    async for _ in tree.build(memory, engine):
        pass
    assert recap(memory).summaries == 0, "all gists fit"
    story = recap(memory, words=60)
    assert story.summaries
    texts = [
        " ".join(node.summary.text.split())
        for node in tree.existing_summaries(memory, 14)
    ]
    assert len(texts) < 14
    texts.append(" ".join(memory.book.text.split()))
    assert all(
        any(sentence.text in text for text in texts) for sentence in story.before
    )
    assert "summaries of" in describe_sources(story)
    calls = len(engine.calls)
    assert recap(memory.upto(memory.entry(2).page.end)).summaries == 0
    assert len(engine.calls) == calls


def test_without_gists_it_is_told_in_the_sentences_of_the_chapter() -> None:
    book = make_book(
        [
            (
                "Mr. Penn came to the farm, and Mr. Penn rang the bell. Nobody came to the door "
                "for "
                "a long time."
            )
        ]
    )
    so_far = recap(GistMemory(book, PageSize(50, 150), ""))
    assert so_far.pages == 0
    assert so_far.chapter
    assert all(
        book.text[sentence.start :].startswith(sentence.text)
        for sentence in so_far.chapter
    )
    assert so_far.people == ("Mr. Penn",)


def test_people_met_long_before_are_not_near() -> None:
    early, late = (
        f"{name} came to the farm, and {name} rang the bell."
        for name in ("Mr. Penn", "Mrs. Doyle")
    )
    between = ["It rained on the hills, and the road was empty. " * 10] * 10
    assert 4_000 < sum(map(len, between)) < 6_000
    book = make_book([early, *between, late])
    assert recap(GistMemory(book, PageSize(50, 150), "")).people == ("Mrs. Doyle",)


def test_a_sentence_that_the_place_cuts_is_not_told() -> None:
    first, last = (
        "He took up his lantern and thanked her twice.",
        "He went up the lane so fast that the light jumped.",
    )
    book = make_book([f"{first} {last}"])
    memory = GistMemory(book, PageSize(50, 150), "").upto(book.text.index(" fast"))
    assert [sentence.text for sentence in recap(memory).chapter] == [first]


def test_a_sentence_that_the_place_cuts_is_no_gist() -> None:
    page = (
        "He took up his lantern and thanked her twice. “I will go up the lane to the mill,” he "
        "said, and the light jumped."
    )
    book = make_book([page])
    entry = MemoryEntry(
        Page(1, 0, len(page), 22), Gist("He left.", 2, GistSource.MODEL)
    )
    memory = GistMemory(book, PageSize(5, 50), "m", [entry])
    sentences = recap(memory.upto(page.index(" to the mill"))).chapter
    assert [sentence.text for sentence in sentences] == [
        "He took up his lantern and thanked her twice."
    ]


def test_a_heading_is_no_part_of_a_quoted_sentence() -> None:
    first = "The miller turned the gold coin over in his fingers."
    book = make_book(
        ["# Chapter 3. The Rope", f"{first} “Clocks,” he said, and laughed aloud."]
    )
    gist = Gist("What the miller did.", 4, GistSource.MODEL)
    entry = MemoryEntry(Page(1, 0, len(book.text), 21), gist)
    memory = GistMemory(book, PageSize(5, 50), "m", [entry])
    sentences = recap(memory.upto(book.text.index(" said"))).chapter
    assert [sentence.text for sentence in sentences] == [first]


def test_what_is_printed_behind_the_story_is_not_told() -> None:
    licence = "You may copy this book and share it freely with anybody whom you like."
    book = make_book(
        ["The keeper lit the lamp."],
        ["The lamp went out and the keeper rowed."],
        [licence],
    )
    *story, last = book.chapters
    book = replace(book, chapters=(*story, replace(last, title="Uncopyright")))
    so_far = recap(GistMemory(book, PageSize(50, 150), ""))
    assert (so_far.title, [sentence.text for sentence in so_far.chapter]) == (
        "Chapter 2",
        ["The lamp went out and the keeper rowed."],
    )


async def test_a_title_page_is_no_part_of_the_story() -> None:
    story = open_book(story_path())
    starts = [
        0,
        story.text.index("Chapter 1."),
        *(chapter.start for chapter in story.chapters[1:]),
        len(story.text),
    ]
    title = " ".join(story.text[: starts[1]].split())
    gist = "Nora Vell put down her sewing and listened."
    entries = [
        MemoryEntry(
            Page(number, start, end, 300),
            Gist(gist if number > 1 else title, 9, GistSource.MODEL),
        )
        for number, (start, end) in enumerate(pairwise(starts), 1)
    ]
    memory = GistMemory(story, PageSize(200, 600), "m", entries)
    async for _ in tree.build(memory, FakeEngine(says=lambda _: f"{title}. {gist}")):
        pass
    so_far = recap(memory.upto(starts[3]), words=15)  # The gists themselves do not fit
    assert so_far.summaries
    assert gist in {sentence.text for sentence in so_far.before}
    assert not any(title in sentence.text for sentence in so_far.before)


def test_where_the_memory_ends_long_before_the_place_the_chapter_there_tells_the_rest() -> (
    None
):
    story = open_book(story_path())
    chapters = story.chapters
    gist = Gist("Nora heard the bell.", 4, GistSource.MODEL)
    entries = [
        MemoryEntry(Page(number, chapter.start, chapter.end, 300), gist)
        for number, chapter in enumerate(chapters[:2], 1)
    ]
    memory = GistMemory(story, PageSize(200, 600), "m", entries)
    so_far = recap(memory.upto(chapters[5].end))
    assert [sentence.text for sentence in so_far.before] == ["Nora heard the bell."]
    assert so_far.title == chapters[5].title
    assert all(
        chapters[5].start <= sentence.start < chapters[5].end
        for sentence in so_far.chapter
    )
    assert so_far.chapter
    assert describe_sources(so_far).endswith(
        "the gists of 2 sections and the chapter’s own sentences"
    )


def test_a_tale_is_told_act_by_act_in_the_order_of_the_book() -> None:
    acts = [
        "The miller boasted to the king that his daughter could spin straw into gold.",
        "A little man spun the straw, and she promised him her first child.",
        "She became the queen, and the little man came back for her child.",
        "A messenger heard the little man sing his own name by a fire.",
        "The queen said the name, and the little man tore himself in two.",
    ]
    filler = "The king and the queen and the little man spoke of the straw and the child again."
    pages = [f"{act} {filler}" for act in acts]
    book = make_book(pages)
    entries = []
    for number, page in enumerate(pages, start=1):
        start = book.text.index(page)
        gist = Gist(page, 30, GistSource.MODEL)
        entries.append(MemoryEntry(Page(number, start, start + len(page), 30), gist))
    story = recap(GistMemory(book, PageSize(5, 50), "m", entries))
    sentences = [*story.before, *story.chapter]
    assert [sentence.start for sentence in sentences] == sorted(
        sentence.start for sentence in sentences
    )
    assert len({book.paragraph_index(sentence.start) for sentence in sentences}) == len(
        acts
    )


def test_a_gist_is_told_in_its_own_order() -> None:
    page = (
        "The emperor came to the hut of his wife. Once he had left her as a beggar, to seek his "
        "fortune far away."
    )
    gist = "A beggar left his wife to seek his fortune. The emperor came to the hut of his wife."
    book = make_book([page])
    entry = MemoryEntry(Page(1, 0, len(page), 22), Gist(gist, 18, GistSource.MODEL))
    story = recap(GistMemory(book, PageSize(5, 50), "m", [entry]))
    assert " ".join(sentence.text for sentence in story.chapter) == gist
    starts = [sentence.start for sentence in story.chapter]
    assert starts == sorted(starts)


def test_a_long_story_is_told_from_its_beginning_to_its_end_in_bounded_words() -> None:
    acts = range(40)
    texts = [
        f"On the morning of storm and rain the keeper of lamp {chr(97 + act % 26)} rowed to the "
        f"reef and brought another sailor home to his fire. "
        f"Bread for {act} was baked and nets were mended."
        for act in acts
    ]
    book = make_book(texts)
    entries = [
        MemoryEntry(
            Page(number, paragraph.start, paragraph.end, 38),
            Gist(text, 38, GistSource.MODEL),
        )
        for number, (text, paragraph) in enumerate(
            zip(texts, book.paragraphs[-len(texts) :], strict=True), start=1
        )
    ]
    story = recap(GistMemory(book, PageSize(5, 50), "m", entries))
    sentences = [*story.before, *story.chapter]
    words = sum(count_words(sentence.text) for sentence in sentences)
    assert 0.9 * RECAP_WORDS < words <= RECAP_WORDS < sum(map(count_words, texts))
    paragraphs = [book.paragraph_index(sentence.start) for sentence in sentences]
    first = book.paragraph_index(entries[0].page.start)
    assert paragraphs[0] == first
    assert paragraphs[-1] == first + len(texts) - 1
    assert max(after - before for before, after in pairwise(paragraphs)) <= 5


def test_a_mark_alone_is_no_sentence() -> None:
    line = "“‘They are safe where the miller’s clocks are kept.’ ”"
    book = make_book([line, "Nora went to the door and looked out at the rain."])
    gist = Gist(book.text, 20, GistSource.EXTRACTIVE)
    entry = MemoryEntry(Page(1, 0, len(book.text), 20), gist)
    memory = GistMemory(book, PageSize(5, 50), "m", [entry])
    sentences = [sentence.text for sentence in recap(memory).chapter]
    assert sentences
    assert "“”" not in sentences


def test_without_gists_each_chapter_is_told_under_its_title() -> None:
    chapters = [
        [
            f"# Chapter {number}",
            f"Mr. Penn came to the farm on day {number}, and it rained until the evening.",
            "Nobody came to the door for a long time, and the dog slept in the yard.",
        ]
        for number in range(1, 5)
    ]
    book = make_book(*chapters)
    memory = GistMemory(book, PageSize(50, 150), "")
    story = recap(memory)
    by_title = dict(paragraphs_by_chapter(story, memory, book))
    assert list(by_title) == [chapter.title for chapter in book.chapters]
    for number, paragraphs in enumerate(by_title.values(), start=1):
        assert f"on day {number}," in paragraph_text(paragraphs[0], story)
    up_to_second = memory.upto(book.chapters[1].end)
    bounded = recap(up_to_second)
    assert {sentence.start < book.chapters[1].end for sentence in bounded.before} == {
        True
    }


def test_a_chapter_with_two_headings_is_told_too() -> None:
    sentences = [
        "Mr. Penn came to the farm one day, and it rained until the evening.",
        "Nobody came to the door for a long time, and the dog slept in the yard.",
    ]
    first = ["# Chapter 1", "# In Which It Rains", *sentences]
    book = make_book(first, ["# Chapter 2", *sentences], ["# Chapter 3", *sentences])
    story = recap(GistMemory(book, PageSize(50, 150), ""))
    assert any(sentence.start < book.chapters[1].start for sentence in story.before)


def test_a_story_is_told_from_its_beginning_if_only_its_last_chapter_is_read() -> None:
    chapters = [
        [
            f"# Chapter {number}",
            f"Mr. Penn came to the farm on day {number}, and it rained until the evening.",
            "Nobody came to the door for a long time, and the dog slept in the yard.",
        ]
        for number in range(1, 4)
    ]
    book = make_book(*chapters)
    last = book.chapters[-1]
    page = Page(1, last.start, last.end, 30)
    gist = Gist("Mr. Penn came.", 3, GistSource.MODEL)
    memory = GistMemory(
        book, PageSize(50, 150), "", [MemoryEntry(page, gist, NO_USAGE)]
    )
    (start, _), *_ = _story_places(memory)
    assert start < book.chapters[1].start
