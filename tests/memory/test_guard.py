"""Every rule of the guard, with gists that pass and gists that fail."""

import pytest

from gistread.memory.guard import Draft, Fault, clean, find_fault
from tests.memory.test_gisting import GOOD, PAGE

JAPANESE_PAGE = (
    "ある日の暮方の事である。一人の下人が、羅生門の下で雨やみを待っていた。広い門の下には、この男のほかに誰もいない。"
    "ただ、所々丹塗の剥げた、大きな円柱に、蟋蟀が一匹とまっている。羅生門が、朱雀大路にある以上は、この男のほかにも、"
    "雨やみをする市女笠や揉烏帽子が、もう二三人はありそうなものである。それが、この男のほかには誰もいない。"
)
RUSSIAN_PAGE = (
    "Наташа вышла на крыльцо и долго смотрела на дорогу, по которой уехал князь Андрей. Старый граф Ростов сидел в "
    "кабинете и писал письмо в Москву. Никто не знал, когда вернётся полк, и графиня плакала с самого утра. Соня "
    "принесла ей чаю, но графиня не хотела ни пить, ни говорить. К вечеру пришло известие о большом сражении."
)
GERMAN_PAGE = (
    "Der alte Mann ging am Morgen durch den Garten und sah nach den Rosen, die seine Frau vor vielen Jahren gepflanzt "
    "hatte. Im Haus schlief noch der Enkel, der am Abend mit dem Zug gekommen war. Der Mann setzte sich auf die Bank "
    "und dachte an den Brief, der seit Wochen ungeöffnet auf dem Tisch lag. Er hatte Angst vor der Nachricht."
)


def fault(text: str, page: str = PAGE, *, prompt_words: str = "", cut_off: bool = False) -> Fault | None:
    return find_fault(Draft(text, page, prompt_words, cut_off))


@pytest.mark.parametrize(
    ("text", "page"),
    [
        (GOOD, PAGE),
        (
            "暮方に下人が羅生門で雨のやむのを待つ。広い門には男のほか誰もおらず、円柱に蟋蟀が一匹いるだけだ。",
            JAPANESE_PAGE,
        ),
        ("Наташа смотрит на дорогу, где уехал Андрей; граф Ростов пишет в Москву, графиня плачет.", RUSSIAN_PAGE),
        ("Der alte Mann sieht im Garten nach den Rosen. Er hat Angst vor der Nachricht im Brief.", GERMAN_PAGE),
    ],
    ids=["English", "Japanese", "Russian, names declined", "German, nouns capitalised"],
)
def test_a_good_gist_passes(text: str, page: str) -> None:
    assert fault(text, page) is None


@pytest.mark.parametrize("text", ["", "   ", "The man.", "The boat was."])
def test_empty(text: str) -> None:
    assert fault(text) is Fault.EMPTY


@pytest.mark.parametrize(
    "text",
    [
        "As an AI language model, I do not have a view of the harbour or of old Tamsin on the wall.",
        "I'm sorry, but I can't help with shortening the harbour passage about Holloway.",
        "I cannot provide a shortened version of this harbour passage, Holloway, rope and boat.",
        "Please provide the passage you would like me to shorten, the harbour, the rope, the boat.",
    ],
)
def test_refusal(text: str) -> None:
    assert fault(text) is Fault.REFUSAL


def test_a_narrator_who_cannot_do_something_is_no_refusal() -> None:
    assert (
        fault("I cannot find the Marigold in the harbour, and old Tamsin has seen nobody go; the rope was cut.") is None
    )


def test_an_assistant_in_the_story_is_no_refusal() -> None:
    page = PAGE + ' "As an AI I am bound to tell you," said the harbour machine.'
    assert fault('"As an AI I am bound to tell you," said the harbour machine; the rope was cut.', page) is None


def test_a_single_line_for_a_long_page() -> None:
    line = "Holloway, a boat in the harbour, was accused of a rope."
    assert fault(line, PAGE * 4) is Fault.EMPTY
    assert fault(line, PAGE) is None


def test_not_shorter_than_the_page() -> None:
    assert fault(PAGE) is Fault.TOO_LONG


@pytest.mark.parametrize(
    "text",
    [
        "the boat was gone and " * 8,
        "Holloway went to the harbour and saw the boat. " + "He saw the rope and the boat and the rope. " * 6,
    ],
)
def test_loop(text: str) -> None:
    assert fault(text) is Fault.LOOP


def test_a_loop_without_spaces() -> None:
    assert fault("男が雨を待っている。" * 9, JAPANESE_PAGE) is Fault.LOOP


def test_names_and_numbers_that_the_page_lacks() -> None:
    assert (
        fault("In 1887 the boat of Captain Ahab left Nantucket harbour, and the rope was cut.") is Fault.FOREIGN_NAMES
    )


@pytest.mark.parametrize("name", ["Utoya", "Captain Ahab", "1887"])
def test_one_foreign_name_among_few_is_too_many(name: str) -> None:
    assert (
        fault(f"Then Holloway and old Tamsin see at {name} that the rope of his boat was cut.") is Fault.FOREIGN_NAMES
    )


def test_one_foreign_name_among_many_passes() -> None:
    names = ["Anna", "Boris", "Clara", "Dmitri", "Elena", "Fedor", "Galina", "Helene", "Ivan", "Julie"]
    page = f"At the party of the old count there were {', '.join(names)} and many who danced until the morning. " * 3
    danced = ", ".join(reversed(names))
    assert fault(f"Among those who danced at the old count's party were {danced} and Kuragin.", page) is None


def test_another_form_of_a_name_is_not_foreign() -> None:
    page = PAGE + " The Englishman and the Prussians laughed."
    assert fault("Holloway sees that the rope was cut; some English and a Prussian laugh.", page) is None


def test_names_in_a_script_without_case() -> None:
    text = "ある日の暮方、アレクサンダーとナポレオンとが羅生門の下で雨やみを待っていた。"
    assert fault(text, JAPANESE_PAGE) is Fault.FOREIGN_NAMES


def test_not_about_the_page() -> None:
    text = "It is important to maintain a healthy lifestyle through regular exercise and balanced nutrition."
    assert fault(text) is Fault.UNRELATED


def test_another_script() -> None:
    assert fault("一个人走到港口，发现他兄弟的船不见了，绳子被刀割断。") is Fault.OTHER_SCRIPT
    assert (
        fault("A man waits for the rain to stop beneath a gate. There is nobody else.", JAPANESE_PAGE)
        is Fault.OTHER_SCRIPT
    )


def test_copied_prompt() -> None:
    task = "Shorten the passage and write only the shortened passage in its own language."
    text = "Holloway finds the boat gone. Write only the shortened passage in its own language. The rope was cut."
    assert fault(text, prompt_words=task) is Fault.PROMPT
    assert fault(text, PAGE + " " + task, prompt_words=task) is None


def test_the_beginning_of_the_page_copied() -> None:
    assert fault(" ".join(PAGE.split()[:60])) is Fault.COPIED


def test_a_short_quotation_is_not_a_copy() -> None:
    quoted = "nobody had gone out in the night, for the wind had been wrong"
    gist = (
        f"Holloway finds the Marigold gone. Tamsin says that {quoted}. But the loose rope was cut by somebody's knife."
    )
    assert fault(gist) is None


@pytest.mark.parametrize(
    "text",
    [
        "Holloway finds his boat gone and the rope cut.\nSummary:\nTold in detail with old Tamsin on the wall.",
        "The sentence:\nHolloway finds his boat gone from the harbour and the rope cut.",
        "Holloway finds his boat gone.\nSummary of the passage:\nThe rope was cut, the boat gone, Tamsin saw nobody.",
        "Holloway finds his boat gone.\nIn another example, old Tamsin on the wall saw nobody go.",
        "This is a shortened version of the original text. Tamsin sat on the harbour wall, the rope was cut.",
        "The passage describes how old Tamsin sat on the harbour wall and saw that the rope was cut.",
        "The passage is about Holloway, whose boat was gone from the harbour and the rope cut.",
        "Holloway finds the boat gone, the rope cut. I have rewritten it so that old Tamsin is in it.",
    ],
)
def test_a_gist_about_itself_is_rejected(text: str) -> None:
    assert fault(text) is Fault.ABOUT_ITSELF


def test_cut_off_with_no_whole_sentence_left() -> None:
    text, cut_off = clean("Holloway walks to the harbour and finds that his brother's boat", cut_off=True)
    assert cut_off
    assert fault(text, cut_off=cut_off) is Fault.CUT_OFF


@pytest.mark.parametrize(
    "opening",
    [
        "Sure, here is a shortened version of the passage: ",
        "Here's the shortened passage:\n\n",
        "**Shortened passage:** ",
        "Summary: ",
        "(Page 3) ",
        "Certainly! ",
    ],
)
def test_openings_are_removed(opening: str) -> None:
    assert clean(opening + GOOD) == (GOOD, False)


@pytest.mark.parametrize(
    "text", ["Sure of himself, Holloway walked on.", "Here is where Holloway stood.", "Page after page he read."]
)
def test_a_sentence_that_only_begins_like_an_opening_stays(text: str) -> None:
    assert clean(text)[0] == text


def test_repeated_sentences_are_dropped() -> None:
    assert (
        clean("He saw the boat go. The sea was grey. He saw the boat go.")[0] == "He saw the boat go. The sea was grey."
    )


def test_terminal_escapes_and_marks_are_removed() -> None:
    assert clean("\x1b[31m**He saw the boat go.**\x00")[0] == "[31m**He saw the boat go."


def test_a_sentence_that_nearly_repeats_an_earlier_one_is_dropped() -> None:
    gist, _ = clean("He hunts alone in the woods at night. He hunts alone in the woods. At night he comes home.")
    assert gist == "He hunts alone in the woods at night. At night he comes home."
