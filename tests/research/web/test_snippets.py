"""A page is cut along its elements.

Nothing is lost, nothing is told twice, and no part is too large.
"""

import random
import time

from research.web.snippets import read_page
from tests.research.web.pages import SHOP


def test_the_words_of_the_page_are_all_there_at_any_depth() -> None:
    pages = [read_page(SHOP.encode(), "shop.html", depth) for depth in (1, 4, 6, 9)]
    texts = {
        " ".join(snippet.text for snippet in page.snippets).replace("\n", " ")
        for page in pages
    }
    assert len(texts) == 1
    assert "1 litre, 64 euros." in texts.pop()


def test_a_long_page_and_one_nested_without_end_are_read_in_seconds() -> None:
    rows = "".join(
        f"<li><a href='/item/{n}'>Item number {n} of the list</a></li>"
        for n in range(4_000)
    )
    nested = "<div>" * 5000 + "<a href='/deep'>deep</a>" + "</div>" * 5000
    for body, least in (
        (f"<ul>{rows}</ul>", 4_000),
        (f"<a href='/'>Home</a>{nested}", 1),
    ):
        started = time.process_time()
        page = read_page(f"<html><body>{body}</body></html>".encode(), "large.html")
        assert len(page.elements) >= least
        assert time.process_time() - started < 10


def test_any_mutation_of_a_page_is_read_or_refused() -> None:
    from gistread.errors import BookError

    dice = random.Random(7)
    data = bytearray(SHOP.encode())
    read = 0
    for _ in range(40):
        broken = bytearray(data)
        for _ in range(dice.randint(1, 12)):
            at = dice.randrange(len(broken))
            if dice.random() < 0.5:
                broken[at] = dice.randrange(256)
            else:
                del broken[at : at + dice.randint(1, 40)]
        try:
            page = read_page(bytes(broken), "broken.html")
        except BookError:
            continue
        read += 1
        assert [index for snippet in page.snippets for index in snippet.elements] == [
            element.index for element in page.elements
        ]
    assert read > 24
