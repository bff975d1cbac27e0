"""What facts tell of a person, with their quotes, and who is said to be the same as whom."""

from gistread.memory import facts
from gistread.memory.model import Gist, GistMemory, GistSource, MemoryEntry, Page, PageSize
from gistread.people.index import Index
from gistread.readers.claims import claims, identities, pages_without_facts
from tests.fake_engine import FakeEngine
from tests.memory.books import make_book

PAGES = (
    "Mr. Penn came to the farm in the rain, and he rang the bell twice. Nobody knew Mr. Penn there. "
    "Anna Kerr was in the garden with a lantern, and Anna Kerr saw him come.",
    "Mr. Penn sold his horse to the miller for ten pounds. Anna Kerr laughed at Penn, said Mr. Penn, and went away.",
    "The Captain was tall and grey. The Captain is none other than Mr. Penn, said Anna Kerr. So the Captain left.",
)
SAID = {
    "rang the bell": "- Mr. Penn rang the bell of the farm in the rain. | Mr. Penn; bell\n"
    "- Anna Kerr rang the bell with Mr. Penn. | Anna Kerr\n",
    "sold his horse": "- Penn sold a horse to the miller. | Penn; horse\n- Nobody bought the farm there. | farm\n",
    "tall and grey": "- The Captain was tall. | Captain\n",
}


async def test_claims_have_quotes_that_name_the_person_and_nothing_is_asked_twice() -> None:
    book = make_book(list(PAGES))
    memory = GistMemory(book, PageSize(20, 60), "fake")
    for number, one in enumerate(book.paragraphs, start=1):
        memory.entries.append(MemoryEntry(Page(number, one.start, one.end, 30), Gist("-", 1, GistSource.MODEL)))
    index = Index.of(book)
    view = index.upto(len(book.text))
    (penn,) = view.find("Mr. Penn")
    assert claims(penn, memory) == []
    assert [entry.page.number for entry in pages_without_facts(penn, memory)] == [2, 1, 3]
    engine = FakeEngine(says=lambda prompt: next(said for words, said in SAID.items() if words in prompt))
    for _ in range(2):
        async for _ in facts.build(memory, engine):
            pass
    assert len(engine.calls) == 3
    assert pages_without_facts(penn, memory) == []
    told = claims(penn, memory)
    quotes = [(one.text.split()[0], book.text[slice(*one.quote)].split(",")[0]) for one in told]
    assert quotes[0] == ("Mr.", "Mr. Penn came to the farm in the rain")
    assert quotes[-1] == ("Penn", "Mr. Penn sold his horse to the miller for ten pounds.")
    assert all("Penn" in book.text[slice(*one.quote)] for one in told)
    assert told[0].checked
    (same,) = identities(penn, view, told)
    assert (same.other.name, book.text[slice(*same.quote)]) == (
        "the Captain",
        "The Captain is none other than Mr. Penn, said Anna Kerr.",
    )
    before = index.upto(book.paragraphs[1].end)
    assert claims(before.find("Mr. Penn")[0], memory.upto(book.paragraphs[0].end)) == told[:-1]
    assert not list(identities(before.find("Mr. Penn")[0], before))
