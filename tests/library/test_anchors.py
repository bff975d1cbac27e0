"""Quotes are found again in another version of the text, unless their words are gone."""

import random
import re
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gistread.book.open import open_book
from gistread.book.sentences import sentence_spans
from gistread.library.moving import SearchableText, find_quote
from gistread.marking import CONTEXT, TextQuote, quote_at
from gistread.sample import story_path
from tests.book.data import needs_books, text_book


@cache
def sample() -> str:
    return open_book(story_path()).text


@cache
def novel() -> str:
    return open_book(text_book("Time-Machine")).text


def anchor_all(
    places: Sequence[TextQuote], text: str, length: int
) -> list[tuple[int, int] | None]:
    searched = SearchableText(text)
    return [find_quote(place, searched, length) for place in places]


def passages(text: str, count: int, seed: int = 1) -> list[TextQuote]:
    """Sentences and pairs of sentences from all over a text."""
    spans = [span for span in sentence_spans(text) if 25 < span[1] - span[0] < 400]
    chosen = random.Random(seed).sample(spans[:-1], count)
    return [quote_at(text, start, end) for start, end in chosen]


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def test_an_anchor_has_the_words_before_and_after_its_place() -> None:
    text = sample()
    place = quote_at(text, 500, 600)
    assert place.exact == text[500:600]
    assert (
        place.prefix + place.exact + place.suffix == text[500 - CONTEXT : 600 + CONTEXT]
    )
    here = quote_at(text, 500)
    assert 0 < len(here.exact) <= 64
    assert here.exact == here.exact.rstrip()
    assert quote_at(text, len(text) + 9) == TextQuote(
        len(text), len(text), "", text[-CONTEXT:], ""
    )


@pytest.mark.parametrize("repeats", [1, 2])
def test_in_the_same_text_every_place_is_unchanged(repeats: int) -> None:
    text = "\n\n".join([sample()] * repeats)
    for place in passages(text, 40):
        assert find_quote(place, SearchableText(text), len(text)) == (
            place.start,
            place.end,
        )


def test_other_dashes_quotes_and_spaces_make_no_difference() -> None:
    text = sample()
    changes = {
        "—": " - ",
        "“": '"',
        "”": '"',
        "’": "'",
        "‘": "'",
        "\n\n": "\n\n\n",
        "…": "...",
        "–": "--",
    }
    other = text
    for old, new in changes.items():
        other = other.replace(old, new)
    other = re.sub(r"\b(\w{4})(\w{4})\b", "\\1-\\2", other)
    assert other != text
    places = passages(text, 60)
    for place, anchor in zip(places, anchor_all(places, other, len(text)), strict=True):
        assert anchor is not None, place.exact
        got = "".join(words_of(other[slice(*anchor)]))
        assert got == "".join(words_of(place.exact))


def test_scattered_changes_lose_no_place() -> None:
    text = sample()
    random.seed(4)
    other = re.sub(
        r"\b\w{5,}\b",
        lambda match: "something" if random.random() < 0.08 else match[0],
        text,
    )
    places = passages(text, 60)
    for place, anchor in zip(places, anchor_all(places, other, len(text)), strict=True):
        assert anchor is not None, place.exact
        words = set(words_of(place.exact))
        common = words & set(words_of(other[slice(*anchor)]))
        assert len(common) >= 0.6 * len(words), (place.exact, other[slice(*anchor)])


def test_only_places_in_removed_paragraphs_are_lost() -> None:
    text = sample()
    paragraphs = text.split("\n\n")
    removed = {number for number in range(len(paragraphs)) if number % 5 == 4}
    other = "\n\n".join(
        part for number, part in enumerate(paragraphs) if number not in removed
    )
    gone = kept = 0
    places = passages(text, 80)
    for place, anchor in zip(places, anchor_all(places, other, len(text)), strict=True):
        paragraph = text.count("\n\n", 0, place.start)
        if paragraph in removed and place.exact not in other:
            gone += 1
            assert anchor is None, (place.exact, other[slice(*anchor)])
        elif anchor is not None:
            kept += 1
            assert other[slice(*anchor)] == place.exact
        else:
            raise AssertionError(place.exact)
    assert gone > 5
    assert kept > 40


def test_a_changed_word_is_found_between_its_neighbours() -> None:
    text = (
        "The old keeper looked at the grey colour of the evening sea and went slowly up to the "
        "lamp."
    )
    start = text.index("colour")
    other = "Preface.\n\n" + text.replace("colour", "color")
    anchor = find_quote(
        quote_at(text, start, start + 6), SearchableText(other), len(text)
    )
    assert anchor is not None
    assert other[slice(*anchor)] == "color"


def test_a_passage_of_many_paragraphs_is_found_by_its_ends() -> None:
    text = sample()
    place = quote_at(text, len(text) // 4, 3 * len(text) // 4)
    random.seed(9)
    other = "Preface.\n\n" + re.sub(
        r"\b\w{6,}\b", lambda m: m[0].upper() if random.random() < 0.5 else m[0], text
    )
    other = re.sub(
        r"\bthe\b", lambda m: "that" if random.random() < 0.1 else m[0], other
    )
    anchor = find_quote(place, SearchableText(other), len(text))
    assert anchor is not None
    assert abs(anchor[0] - 10 - place.start) < 150
    assert abs(len(other[slice(*anchor)]) - len(place.exact)) < 400


def test_a_text_without_spaces_is_anchored_too() -> None:
    text = (
        "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。"
        * 2
    )
    start = text.index("どこで", 60)
    place = quote_at(text, start, start + 19)
    other = "序。\n\n" + text.replace("とんと", "頓と").replace("。", "．")
    anchor = find_quote(place, SearchableText(other), len(text))
    assert anchor is not None
    assert "どこで生れたか頓と見当がつかぬ" in other[slice(*anchor)]
    assert anchor[0] > 60


def test_no_place_is_found_in_another_book() -> None:
    text = sample()
    other = " ".join(sorted(words_of(text)))
    assert anchor_all(passages(text, 30), other, len(text)) == [None] * 30


@needs_books
def test_a_novel_in_another_edition_keeps_its_places() -> None:
    text = novel()
    random.seed(2)
    paragraphs = [part for part in text.split("\n\n") if random.random() > 0.03]
    other = "\n\n".join(["A publisher's note of the new edition.", *paragraphs])
    other = other.replace("—", "--").replace("’", "'")
    other = re.sub(
        r"\b\w{5,}\b",
        lambda match: match[0][:-1] if random.random() < 0.03 else match[0],
        other,
    )
    places = passages(text, 150)
    anchors = anchor_all(places, other, len(text))
    assert anchors.count(None) < 15  # those of the paragraphs that are gone
    for place, anchor in zip(places, anchors, strict=True):
        if anchor is not None:
            words = set(words_of(place.exact))
            common = words & set(words_of(other[slice(*anchor)]))
            assert len(common) >= 0.5 * len(words)


@settings(max_examples=200)
@given(
    st.text("ab c.\n—“", max_size=60),
    st.text("ab c.\n—“", max_size=60),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_every_place_found_is_inside_the_text(
    text: str, other: str, first: int, second: int
) -> None:
    place = quote_at(text, min(first, second), max(first, second))
    anchor = find_quote(place, SearchableText(other), len(text))
    assert anchor is None or 0 <= anchor[0] < anchor[1] <= len(other)


@pytest.mark.parametrize("cut", [5, 60, 130])
def test_a_quotation_that_ends_in_a_text_cut_off_is_found_or_lost_but_never_an_error(
    cut: int,
) -> None:
    text = " ".join(
        f"Sentence {number} tells of the road and the river." for number in range(40)
    )
    place = quote_at(text, len(text) - 160, len(text))
    anchor = find_quote(place, SearchableText(text[:-cut]), len(text))
    assert anchor is None or anchor[1] <= len(text) - cut


def test_signs_without_letters_are_found_where_their_surroundings_are() -> None:
    text = "The first part ends. *** The second begins."
    start = text.index("***")
    assert find_quote(
        quote_at(text, start, start + 3), SearchableText(text), len(text)
    ) == (
        start,
        start + 3,
    )
