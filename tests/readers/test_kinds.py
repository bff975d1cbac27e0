"""What kind of question it is decides the instruction and the length of the answer."""

import pytest

from gistread.readers.kinds import Kind, form_of, kind_of


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who commands the brig?", Kind.FACT),
        ("To whom did she leave the house?", Kind.FACT),
        ("For how many years was the garden locked?", Kind.FACT),
        ("And where did he go?", Kind.FACT),
        ("Wo wohnt der Müller?", Kind.FACT),
        ("Why did he go?", Kind.REASON),
        ("How did she die?", Kind.REASON),
        ("But why?", Kind.REASON),
        ("Pourquoi part-il ?", Kind.REASON),
        ("¿Por qué huye?", Kind.REASON),
        ("What happened at the inn?", Kind.STORY),
        ("What becomes of the captain?", Kind.STORY),
        ("How does the book end?", Kind.STORY),
        ("Summarise the story so far.", Kind.STORY),
        ("How many wines are named?", Kind.LIST),
        ("List the people at the table.", Kind.LIST),
        ("Compare the two brothers.", Kind.LIST),
        ("Which days of the week are named? List all.", Kind.LIST),
        ("Who is at the table? Please list them.", Kind.LIST),
        ("Who are the people of the castle?", Kind.LIST),
        ("What happens, step by step?", Kind.LIST),
        ("Tell me what happens in eight steps.", Kind.LIST),
        ("Tell the plot in eight steps.", Kind.LIST),
        ("Could you give me an outline of the book in five points?", Kind.LIST),
        ("What is the plot of this novel?", Kind.STORY),
        ("A short summary of the story", Kind.STORY),
        ("Give me the key.", Kind.OTHER),
        ("How do I start it, step by step?", Kind.REASON),
        ("Who lists to the left?", Kind.FACT),
        ("About “cask”: What does this word mean here?", Kind.MEANING),
        ("What does “flambeaux” mean?", Kind.MEANING),
        ("About “he”: Who is this?", Kind.FACT),
        ("Is the doctor her brother?", Kind.OTHER),
        ("Что случилось?", Kind.OTHER),
    ],
)
def test_a_question_has_a_kind(question: str, kind: Kind) -> None:
    assert kind_of(question) is kind


def test_only_the_last_question_of_a_thread_counts_and_no_option() -> None:
    assert kind_of("Why did he go?\nAnswer: To hide.\nQuestion: Who knew?") is Kind.FACT
    assert kind_of("Who knew?\nA. List it\nB. Why") is Kind.FACT


def test_a_list_has_more_room_than_a_reason_and_that_more_than_a_name() -> None:
    questions = ("Who knew?", "Why did he go?", "List the people.")
    name, reason, listed = (form_of(question).tokens for question in questions)
    assert name < reason < listed
