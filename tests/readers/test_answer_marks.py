"""What of an answer is marked.

Names, numbers and quotations that the text lacks, and nothing else.
"""

import json
from pathlib import Path

import pytest

from gistread.readers.absence import says_not_found, says_only_not_found
from gistread.readers.answer_marks import find_marks
from tests.engine.remote.server import RecordedRequest
from tests.memory.books import make_book
from tests.replies import RECORDED, Recorded

TEXT = (
    (
        "“For the love of Heaven!” she whispered, “get away from here before it is too late!” "
        "Fortunato, a Roman, laughed."
    ),
    (
        "For the half of a century no mortal has disturbed them. On the third day four men came "
        "from "
        "Montresor’s house."
    ),
    (
        "“I drink,” he said, “to the buried.” The road to Chicago was twenty-one miles long, and "
        "it’s a long, long way. He stayed a fortnight, drinkers all around."
    ),
    (
        "In one thousand eight hundred and nine, at half-past eight, his grey, colourless honour "
        "was "
        "lost. London sat."
    ),
)
ELSEWHERE = (
    "In the vault of the Medoc house there were twenty-seven casks. On a Monday, late in "
    "February, he drank there."
)
HEADING = "Chapter 43"
BOOK = make_book([f"# {HEADING}", *TEXT, ELSEWHERE], title="The Cask")


def marked(answer: str, question: str = "What happened?") -> list[str]:
    return [
        answer[mark.start : mark.end]
        for mark in find_marks(answer, question, "\n".join((HEADING, *TEXT)), BOOK)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "She begged him, “For the love of Heaven! get away from here before it is too late!”",
        'She said "get away from here … it is too late" to him.',
        "He toasts the dead: ‘I drink to the buried’.",
        "It lasted 50 years. Fifty years later the bones still lay there.",
        "On day 3 the 4 men came; it was 21 miles.",
        "Greed and pride destroy a vain connoisseur, who is outwitted by his rival.",
        "Mr. Fortunato was proud. Italian pride! In the carnival the Montresors rejoiced.",
        (
            "Jealousy ruins him. Loneliness, too, had a part in it; overwork as well. Poverty "
            "taught "
            "him nothing."
        ),
        "On Monday he drank in Chicago, Illinois, and on the third day in February they drank.",
        "Twenty-seven men lay in the vault of the Medoc house.",
        "He stayed for 14 days, as the Drinker does.",
        "There are five people: the two men, the lady and others.",
        (
            'The game "score in hand was his.\nThe score at the end, as the "others" knew, was '
            "never "
            "told."
        ),
        "1. He laughs.\n2. He drinks.\n3. He dies.",
        "| who | what |\n|---|---|\n| Fortunato | laughs |",
        "Fortunato lachte, und die vier Männer kamen aus dem Haus in Chicago.",
        "About 20 miles, on the road to Chicago [1].",
        (
            "**Main Events:** Honour and Its Price\n\n## Theme of the Story\nIn Society, he is "
            "lost "
            "by 8:30 p.m."
        ),
        "In 1809, in the 1800s, in the early nineteenth century.",
        'She saw "his gray, colorless honor was lost".',
        "À Londres, il a perdu « son honneur gris et sans couleur », et plus rien.",
    ],
)
def test_a_fair_answer_is_not_marked(answer: str) -> None:
    assert marked(answer) == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("It was Luchesi who laughed.", ["Luchesi"]),
        ("The men served Captain Jonas Petulengro there.", ["Jonas Petulengro"]),
        ("Wellington.", ["Wellington"]),
        ("Rosenthal taught him. Harrington married her.", ["Rosenthal", "Harrington"]),
        ("They came on a Thursday in October.", ["Thursday", "October"]),
        ("They came on a Saturday.", ["Saturday"]),
        # "Laughed" and "grey" begin alike, but are no names.
        ("He met Laura and Greta.", ["Laura", "Greta"]),
        ("Fourteen guests came.", ["Fourteen"]),
        ("Luchesi told him.", ["Luchesi"]),
        ("Sixty.", ["Sixty"]),
        ("He laughed in Springfield, and 27 guests wept.", ["Springfield", "27"]),
        ("They read Sixty Million Leagues in the evening.", ["Sixty Million Leagues"]),
        ("Seventeen men came, and 99 stayed.", ["Seventeen", "99"]),
        ("Forty-three men came from the house.", ["Forty-three"]),
        (
            "He said, “I shall never forgive you for this.”",
            ["“I shall never forgive you for this.”"],
        ),
        ("Fortunato lachte, und dann kam Luchesi mit 88 Mann.", ["88"]),
    ],
)
def test_words_that_the_text_lacks_are_marked(answer: str, words: list[str]) -> None:
    assert marked(answer, "Who laughed?") == words


def test_a_date_may_be_abbreviated_in_the_text() -> None:
    diary = (
        "Dec. 24th. It snowed all day, and the road to the village was white. I shall wait here "
        "for her until Thurs. or Friday, if there is wood enough in the house."
    )
    book = make_book([diary], title="A Diary")

    def marked_dates(answer: str) -> list[str]:
        marks = find_marks(answer, "When does he write?", diary, book)
        return [answer[mark.start : mark.end] for mark in marks]

    assert (
        marked_dates("He writes on the 24th of December, and waits until Thursday.")
        == []
    )
    assert marked_dates("He writes in November, on a Tuesday.") == [
        "November",
        "Tuesday",
    ]


def test_a_short_answer_is_in_the_language_of_its_question() -> None:
    assert marked("Ein Paar Hühner.", "Was brachte er mit in das Haus?") == []
    assert marked("Ein Paar Hühner.") == ["Paar Hühner"]


def test_a_short_name_is_not_taken_for_one_with_the_same_beginning() -> None:
    book = make_book(
        [*TEXT, "“Come,” said Mark to Martin. They went to the mill with Nelly."]
    )
    text = book.text
    assert len(find_marks("He met Mary at the mill.", "Whom?", text, book)) == 1
    assert not find_marks("He met Nell at the mill.", "Whom?", text, book)


def test_names_of_the_question_are_not_marked() -> None:
    assert (
        marked("No, Luchesi did not come in 1805.", "Did Luchesi come in 1805?") == []
    )


@pytest.mark.parametrize(
    ("answer", "begins", "alone"),
    [
        ("The book does not say.", True, True),
        ("the book does not say", True, True),
        (
            "The book does not say what the insult was; he only vows revenge.",
            True,
            False,
        ),
        ("The text does not mention a wife.", True, False),
        ("He said, “I do not know.”", False, False),
        ("It did not mention a regiment; it gave only the name.", False, False),
        (
            "Because the book does not tell the truth about the king, he burns it.",
            False,
            False,
        ),
    ],
)
def test_not_found_is_the_agreed_phrase_at_the_beginning(
    answer: str, begins: bool, alone: bool
) -> None:
    assert (says_not_found(answer), says_only_not_found(answer)) == (begins, alone)


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded replies are not there")
def test_a_recorded_model_says_again_what_it_said() -> None:
    exchanges = [
        json.loads(line) for line in Path(RECORDED).read_text("utf-8").splitlines()
    ]
    replay = Recorded()
    for exchange in exchanges[40:400:60]:
        assert (
            replay(RecordedRequest({"messages": exchange["messages"]}, {}))
            == exchange["reply"]
        )
