"""A small memory for tests of readers.

Eight pages in eight chapters, with a fact or two on each.
"""

from gistread.memory.model import (
    Gist,
    GistMemory,
    GistSource,
    MemoryEntry,
    Page,
    PageSize,
)
from gistread.words import count_words
from tests.memory.books import make_book

FACTS = (
    "Martha Quill kept the lighthouse at Saltness and never spoke of her brother.",
    "The brass key hung on a nail behind the stove, and nobody was allowed to touch it.",
    "A stranger named Ferrand came ashore with a wooden leg and asked for lodging.",
    "Ferrand drank rum with the fishermen and lost his silver watch at cards.",
    "During the storm the lamp went out, and the schooner Petrel struck the reef.",
    "Martha found the brass key missing from its nail on the morning after the storm.",
    "The cellar door stood open, and in the cellar lay the ledger of her brother.",
    "Ferrand confessed that he had stolen the key to find the ledger that would hang him.",
)
FILLING = (
    "The wind went round to the north that night.",
    "Gulls cried over the grey water, as they always did.",
    "Bread was baked, nets were mended, and the clock struck the hours one by one.",
)


def make_memory(pages: int = 8, total: int = 8) -> GistMemory:
    """The first `pages` of `total` pages have been read."""
    chapters = [
        [f"{FILLING[0]} {FACTS[i % 8]} {FILLING[1]}", " ".join(FILLING * 4)]
        for i in range(total)
    ]
    book = make_book(*chapters, title="The Keeper")
    memory = GistMemory(book, PageSize(50, 150), "fake")
    for number, chapter in enumerate(book.chapters[:pages], start=1):
        words = count_words(book.text[chapter.start : chapter.end])
        gist = " ".join(FACTS[(number - 1) % 8].split()[:6]) + f" (gist {number})."
        memory.entries.append(
            MemoryEntry(
                Page(number, chapter.start, chapter.end, words),
                Gist(gist, count_words(gist), GistSource.MODEL),
            )
        )
    return memory
