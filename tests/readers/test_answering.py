"""What an answer is, and what it is not."""

import pytest

from gistread.engine.protocol import NO_USAGE, Completion, Message
from gistread.readers.absence import says_not_found
from gistread.readers.answering import (
    Asking,
    ReaderOptions,
    is_looping,
    without_repetition,
)
from gistread.readers.events import Answered
from gistread.readers.steering import Steering
from gistread.readers.thread import QuestionAnswer, begun_answer
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory


@pytest.mark.parametrize(
    "answer",
    [
        "The book does not say.",
        "the book doesn't say",
        "The text above does not mention her age.",
        "The book does not explicitly state who did it.",
        "It is not mentioned in the passage.",
        "There is no information about his wife.",
        "Das Buch sagt es nicht.",
        "Le livre ne le dit pas.",
        "El libro no lo dice.",
        "В книге об этом не говорится.",
        "书中没有说。",
        "本には書かれていません。",
        "I could not find any mention of the dog's name.",
        "The name of the dog is not given in the text.",
        "The name of the dog is not given.",
        "Unfortunately, the text does not say.",
        "Unfortunately, the passages provided do not mention a submarine.",
        "Based on the passages above, it is not stated who paid.",
        "No information about this is given in the passages.",
        "The dog's name is never mentioned.",
        "The author never says.",
        "We are never told what the dog was called.",
        "Rien dans le texte ne dit comment s'appelle le chien.",
        "Nada en el relato indica el nombre del perro.",
        "Das Buch erwähnt den Namen des Hundes nicht.",
        "Der Name des Hundes wird im Text nicht genannt.",
        "Im Text wird der Name des Hundes nicht erwähnt.",
        "Leider gibt der Text darüber keine Auskunft.",
        "Ich konnte dazu nichts finden.",
        "Le texte ne précise pas le nom du chien.",
        "Le nom du chien n'est pas mentionné dans le texte.",
        "Je n'ai rien trouvé à ce sujet.",
        "El texto no menciona el nombre del perro.",
        "No se menciona el nombre del perro.",
        "Lamentablemente, el libro no lo dice.",
        "Il testo non dice il nome del cane.",
        "Il nome del cane non viene menzionato.",
        "Purtroppo il libro non lo dice.",
        "O livro não diz o nome do cachorro.",
        "O nome do cachorro não é mencionado no texto.",
        "Não há informações sobre isso.",
        "De tekst noemt de naam van de hond niet.",
        "De naam van de hond wordt niet genoemd.",
        "Helaas vermeldt de tekst dit niet.",
        "Książka nie podaje imienia psa.",
        "W tekście nie ma o tym mowy.",
        "Niestety tekst o tym nie mówi.",
        "В тексте не говорится, как звали собаку.",
        "Имя собаки не упоминается.",
        "К сожалению, книга об этом не говорит.",
    ],
)
def test_not_found_is_recognised(answer: str) -> None:
    assert says_not_found(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Ferrand stole the key.",
        "He does not say a word to his brother and leaves.",
        "She was never told by her mother that the house was sold... no, she knew.",
        "No.",
        "The book that he reads is a ledger.",
        "The letter is not given to her.",
        "No one knows; he left at night.",
        "The order was not given until dawn.",
        "There is no one in the house but the cat.",
        "The narrator did not tell him.",
        "The reason is not greed but love.",
        "The dog is never found.",
        "They are never told what happened.",
        "Rien dans le jardin ne lui plaît.",
        "Das Mädchen gibt dem Jungen das Buch nicht.",
        "Er ist nicht tot.",
        "Le roi n'est pas mort.",
        "Elle ne dit rien à son frère.",
        "No se casa con ella.",
        "Non lo uccide.",
        "O rei não é o pai.",
        "De koning is niet dood.",
        "Król nie jest jego ojcem.",
        "Король не умер.",
    ],
)
def test_an_answer_is_not_taken_for_not_found(answer: str) -> None:
    assert not says_not_found(answer)


@pytest.mark.parametrize(
    "tail",
    ["the key of the key, ", "no ", "他走了。", "a very long sentence about the sea. "],
)
def test_repetition_is_recognised(tail: str) -> None:
    assert is_looping("He went. " + tail * 20)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "He looked at the key of the key of the key of the key.",
            "He looked at the key of",
        ),
        (
            "The old man sat there. The old man sat there. The old man",
            "The old man sat there.",
        ),
        ("他把钥匙放在炉子后面。他把钥匙放在炉子后面。", "他把钥匙放在炉子后面。"),
    ],
)
def test_an_answer_is_cut_where_it_begins_to_repeat_itself(
    text: str, kept: str
) -> None:
    assert without_repetition(text) == kept


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("**Answer:** Ferrand.", "Ferrand."),
        ("Answer: “Nevermore,” said the raven.", "“Nevermore,” said the raven."),
        ("Answer: -5 degrees.", "-5 degrees."),
        ("Line A.\n" * 4, "Line A."),
    ],
)
async def test_an_answer_is_cleaned_of_its_label_and_of_repetition_and_nothing_else(
    reply: str, kept: str
) -> None:
    asking = Asking(
        "Who?", make_memory(), FakeEngine(says=[reply]), Steering(), ReaderOptions()
    )
    events = [
        event
        async for event in asking.answer_from(
            Answered(), "", (Message("user", "Who?"),)
        )
    ]
    assert isinstance(events[-1], Answered)
    assert events[-1].answer == kept


async def _answered(reply: str | Completion, most: int) -> Answered:
    fake = FakeEngine(says=[reply])
    options = ReaderOptions(answer_tokens=most)
    asking = Asking("Who came?", make_memory(), fake, Steering(), options)
    events = asking.answer_from(Answered(), "", (Message("user", "Who came?"),))
    *_, last = [event async for event in events]
    assert isinstance(last, Answered)
    return last


SENTENCES = [f"The guest number {number} came by night." for number in range(9)]


async def test_an_answer_within_its_limit_stands_whole() -> None:
    answered = await _answered(" ".join(SENTENCES), 90)
    assert (answered.answer, answered.finish) == (" ".join(SENTENCES), "end")


async def test_an_answer_near_its_limit_ends_with_a_sentence() -> None:
    answered = await _answered(" ".join(SENTENCES), 40)
    assert answered.finish == "length"
    assert answered.answer == " ".join(SENTENCES[:5])


async def test_a_list_near_its_limit_ends_with_an_item() -> None:
    answered = await _answered(
        "\n".join(f"- guest number {number}" for number in range(20)), 40
    )
    assert answered.finish == "length"
    assert answered.answer.splitlines()[-1] in [
        f"- guest number {number}" for number in range(20)
    ]


async def test_an_answer_that_the_limit_cuts_is_cut_back_to_a_sentence() -> None:
    cut = Completion("He came. She went to the", "length", NO_USAGE)
    answered = await _answered(cut, 90)
    assert (answered.answer, answered.finish) == (
        "He came. She went to the …",
        "length",
    )
    cut = Completion("He came by night [1]. She went to", "filter", NO_USAGE)
    answered = await _answered(cut, 90)
    assert (answered.answer, answered.finish) == ("He came by night [1].", "filter")


def test_the_last_answer_is_gone_on_with() -> None:
    thread = (
        QuestionAnswer("Who?", "Ann."),
        QuestionAnswer("List the wines.", "Port [1]."),
        QuestionAnswer("Go on", "Sherry [1]."),
    )
    begun = begun_answer("Please continue.", thread)
    assert begun is not None
    assert (begun.question, begun.text) == ("List the wines.", "Port.\nSherry.")
    assert begun.before == thread[:1]
    assert begun_answer("Did they go on?", thread) is None
    assert begun_answer("Go on.", ()) is None
