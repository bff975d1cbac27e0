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
    "Наташа вышла на крыльцо и долго смотрела на дорогу, по которой уехал князь Андрей. Старый "
    "граф Ростов сидел в "
    "кабинете и писал письмо в Москву. Никто не знал, когда вернётся полк, и графиня плакала с "
    "самого утра. Соня "
    "принесла ей чаю, но графиня не хотела ни пить, ни говорить. К вечеру пришло известие о "
    "большом сражении."
)
GERMAN_PAGE = (
    "Der alte Mann ging am Morgen durch den Garten und sah nach den Rosen, die seine Frau vor "
    "vielen Jahren gepflanzt "
    "hatte. Im Haus schlief noch der Enkel, der am Abend mit dem Zug gekommen war. Der Mann "
    "setzte sich auf die Bank "
    "und dachte an den Brief, der seit Wochen ungeöffnet auf dem Tisch lag. Er hatte Angst vor "
    "der Nachricht."
)


def fault(
    text: str, page: str = PAGE, *, prompt_words: str = "", cut_off: bool = False
) -> Fault | None:
    return find_fault(Draft(text, page, prompt_words, cut_off))


@pytest.mark.parametrize(
    ("text", "page"),
    [
        (GOOD, PAGE),
        (
            "暮方に下人が羅生門で雨のやむのを待つ。広い門には男のほか誰もおらず、円柱に蟋蟀が一匹いるだけだ。",
            JAPANESE_PAGE,
        ),
        (
            (
                "Наташа смотрит на дорогу, где уехал Андрей; граф Ростов пишет в Москву, графиня "
                "плачет."
            ),
            RUSSIAN_PAGE,
        ),
        (
            "Der alte Mann sieht im Garten nach den Rosen. "
            "Er hat Angst vor der Nachricht im Brief.",
            GERMAN_PAGE,
        ),
    ],
    ids=["English", "Japanese", "Russian, names declined", "German, nouns capitalised"],
)
def test_a_good_gist_passes(text: str, page: str) -> None:
    assert fault(text, page) is None


@pytest.mark.parametrize(
    "text",
    [
        "As an AI language model, "
        "I do not have a view of the harbour or of old Tamsin on the wall.",
        "I'm sorry, but I can't help with shortening the harbour passage about Holloway.",
        "I cannot provide a shortened version of this harbour passage, Holloway, rope and boat.",
        "Please provide the passage you would like me to shorten, the harbour, the rope, the boat.",
    ],
)
def test_refusal(text: str) -> None:
    assert fault(text) is Fault.REFUSAL


@pytest.mark.parametrize(
    "text",
    [
        "the boat was gone and " * 8,
        "Holloway went to the harbour and saw the boat. "
        + "He saw the rope and the boat and the rope. " * 6,
    ],
)
def test_loop(text: str) -> None:
    assert fault(text) is Fault.LOOP


@pytest.mark.parametrize("name", ["Utoya", "Captain Ahab", "1887"])
def test_one_foreign_name_among_few_is_too_many(name: str) -> None:
    assert (
        fault(
            f"Then Holloway and old Tamsin see at {name} that the rope of his boat was cut."
        )
        is Fault.FOREIGN_NAMES
    )


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("Watson", "“You have been in Afghanistan, Dr. Watson,” said he."),
        ("Наташу", "Наташа вышла на крыльцо."),
        ("Ahab", "There was Captain Ahab, erect upon his quarter-deck."),
    ],
)
def test_a_name_that_the_book_had_before_the_page_is_not_foreign(
    name: str, before: str
) -> None:
    gist = (
        f"Then Holloway and old Tamsin tell {name} that the rope of his boat was cut."
    )
    assert find_fault(Draft(gist, PAGE, told_before=before)) is None
    assert (
        find_fault(Draft(gist, PAGE, told_before="Nobody, Ahaz, Wat and Natal."))
        is Fault.FOREIGN_NAMES
    )


def test_another_script() -> None:
    assert (
        fault("一个人走到港口，发现他兄弟的船不见了，绳子被刀割断。")
        is Fault.OTHER_SCRIPT
    )
    assert (
        fault(
            "A man waits for the rain to stop beneath a gate. There is nobody else.",
            JAPANESE_PAGE,
        )
        is Fault.OTHER_SCRIPT
    )


def test_the_beginning_of_the_page_copied() -> None:
    assert fault(" ".join(PAGE.split()[:60])) is Fault.COPIED


@pytest.mark.parametrize(
    "text",
    [
        (
            "Holloway finds his boat gone and the rope cut.\nSummary:\nTold in detail with old "
            "Tamsin on the wall."
        ),
        "The sentence:\nHolloway finds his boat gone from the harbour and the rope cut.",
        (
            "Holloway finds his boat gone.\nSummary of the passage:\nThe rope was cut, the boat "
            "gone, Tamsin saw nobody."
        ),
        "Holloway finds his boat gone.\nIn another example, old Tamsin on the wall saw nobody go.",
        (
            "This is a shortened version of the original text. Tamsin sat on the harbour wall, the "
            "rope was cut."
        ),
        (
            "The passage describes how old Tamsin sat on the harbour wall and saw that the rope "
            "was "
            "cut."
        ),
        "The passage is about Holloway, whose boat was gone from the harbour and the rope cut.",
        (
            "Holloway finds the boat gone, the rope cut. I have rewritten it so that old Tamsin is "
            "in it."
        ),
    ],
)
def test_a_gist_about_itself_is_rejected(text: str) -> None:
    assert fault(text) is Fault.ABOUT_ITSELF


def test_repeated_sentences_are_dropped() -> None:
    assert (
        clean("He saw the boat go. The sea was grey. He saw the boat go.")[0]
        == "He saw the boat go. The sea was grey."
    )


def test_terminal_escapes_and_marks_are_removed() -> None:
    assert (
        clean("\x1b[31m**He saw the boat go.**\x00")[0] == "[31m**He saw the boat go."
    )


PAGE_OF_NORA = (
    "Nora Vell put down her sewing and listened. The bell on the far bank rang three strokes, and "
    "Amos Reed lay by the stove with his left leg in a splint, so she took the lantern herself."
)


@pytest.mark.parametrize(
    "second",
    ["Shortened passage: Hall returns,", "**Summary:** He goes.", "Gist: He\nlooked."],
)
def test_a_second_gist_is_cut_off(second: str) -> None:
    written = f"Hall returned. He looked at her.\n{second}"
    assert clean(written, cut_off=True) == ("Hall returned. He looked at her.", False)


def test_a_summary_of_the_page_itself_is_no_second_gist() -> None:
    page = (
        "Agenda: the harbour wall.\n\nSummary: it was agreed to raise it by a foot.\n"
    )
    gist = "The harbour wall was discussed.\nSummary: it will be raised."
    assert clean(gist, page)[0] == gist
    assert clean(f"{gist}\nGist: They agreed.", page)[0] == gist


def test_a_short_gist_in_words_of_its_own_passes_by_its_names() -> None:
    gist = "Hearing somebody signal across water, Nora leaves injured Amos indoors, carrying light."
    assert find_fault(Draft(gist, PAGE_OF_NORA)) is None
    foreign = gist.replace("Nora", "Brutus").replace("Amos", "Cassius")
    assert find_fault(Draft(foreign, PAGE_OF_NORA)) is Fault.FOREIGN_NAMES
    nameless = (
        "Travellers crossing deserts gathered firewood before sunset, "
        "singing ancient ballads."
    )
    assert find_fault(Draft(nameless, PAGE_OF_NORA)) is Fault.UNRELATED
