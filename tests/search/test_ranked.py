"""Ranked search puts the answer first."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gistread.search.ranked import Ranker
from gistread.search.tokens import Terms, _stemmer

_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

PAGES = [
    "The prince rode to the battle and was wounded.",
    "Natásha danced at the ball until the morning came.",
    "It rained, and the bridges were swept away by the river.",
    "The bridge keeper slept.",
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Who was wounding princes?", 0),
        ("NATASHA dancing", 1),
        ("natásha", 1),
        ("Which bridge did the river sweep away?", 2),
    ],
)
def test_the_page_with_the_answer_comes_first(query: str, first: int) -> None:
    assert Ranker(PAGES, "en").top(query, 2)[0] == first


def test_only_matching_pages_are_returned_and_ties_keep_their_order() -> None:
    ranker = Ranker(["a cat", "a dog", "a cat", "a cat"], "en")
    assert ranker.top("cat", 10) == [0, 2, 3]
    assert ranker.top("cat", 2) == [0, 2]
    assert ranker.top("cat", 0) == []
    assert ranker.top("unicorn", 3) == []


def test_every_page_has_a_score_that_is_not_negative() -> None:
    scores = Ranker(PAGES, "en").scores("the bridge")
    assert len(scores) == len(PAGES)
    assert min(scores) >= 0
    assert scores[3] > scores[2] > 0


@pytest.mark.parametrize(
    ("language", "document", "query"),
    [
        ("de", "Die Häuser brannten.", "Haus"),
        ("fr", "L’élève est arrivé hier.", "eleves"),
        ("es-MX", "Los caballos corrían.", "caballo"),
        ("ru", "Князь увидел сражение.", "сражения"),
        ("ja", "昨夕は妙な気持ちがした。", "気持ち"),
        ("zh", "他在桥上等了很久。", "桥上"),
        ("", "The houses burned.", "house"),
        ("tlh", "jatlhpu' qaghwI'", "qaghwI'"),
    ],
)
def test_words_are_compared_by_the_stems_of_their_language(
    language: str, document: str, query: str
) -> None:
    assert Ranker(["nothing at all", document], language).top(query, 1) == [1]


@pytest.mark.skipif(
    not (_DATA / "fairytaleqa").is_dir(), reason="needs ../shared/data/fairytaleqa"
)
def test_the_section_with_the_answer_is_usually_among_the_first_three() -> None:
    questions = hits = 0
    for line in (
        (_DATA / "fairytaleqa" / "fairytaleqa_dev.jsonl")
        .read_text("utf-8")
        .splitlines()
    ):
        tale = json.loads(line)
        ranker = Ranker(tale["sections"], "en")
        for question in tale["questions"]:
            gold = {
                int(number) - 1
                for number in question["cor_section"].replace(",", " ").split()
            }
            questions += 1
            hits += bool(gold & set(ranker.top(question["question"], 3)))
    assert hits / questions > 0.78


def test_threads_stem_at_once_without_disturbing_each_other() -> None:
    words = [
        f"{beginning}{ending}"
        for beginning in ("walk", "hop", "relat", "nat")
        for ending in ("ing", "ional", "ed")
    ]
    words = [f"{word}{number}ing" for number in range(300) for word in words]
    alone = [Terms("en").stem(word) for word in words]
    _stemmer.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        stems_by_thread = list(
            pool.map(lambda _: [Terms("en").stem(word) for word in words], range(4))
        )
    assert stems_by_thread == [alone] * 4


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("he", "וַיֹּאמֶר לָהּ שָׁלוֹם", "שלום"),
        ("ar", "قَالَ مُحَمَّدٌ", "محمد"),
        ("el", "ὁ ἄνθρωπος ἦν ἐκεῖ", "ανθρωπος"),
        ("fr", "le cœur", "coeur"),
        ("vi", "con đường", "duong"),
        ("hi", "वह हिन्दी में", "हिन्दी"),
        ("hi", "मेरी क़लम", "कलम"),
    ],
)
def test_words_are_found_without_points_and_accents(
    language: str, text: str, query: str
) -> None:
    terms = Terms(language)
    stems = [terms.stem(word) for word in terms.words(text)]
    assert {terms.stem(word) for word in terms.words(query)} <= set(stems)
    places = [text[start:end] for start, end, _ in terms.places(text)]
    assert places == text.split()


def test_kana_of_half_width_are_found_like_others() -> None:
    assert Ranker(["窓を見た。", "ﾃﾚﾋﾞを見た。"], "ja").top("テレビ", 2) == [1]
