"""Questions about a selection of the text.

The model sees the selection and the text around it, but no memory.
"""

import asyncio
import re
from contextlib import aclosing
from dataclasses import replace

from gistread.book.model import Book
from gistread.errors import PromptTooLongError
from gistread.memory.passages import (
    Marked,
    Passage,
    Span,
    overlaps,
    sentence_at,
    split_into_passages,
)
from gistread.readers.answering import Asking, user_prompt
from gistread.readers.book_text import BookText
from gistread.readers.events import Answered, ReaderEvents, Shown, Stopped, StopReason
from gistread.readers.introductions import Introductions, introductions
from gistread.readers.kinds import Kind, kind_of
from gistread.readers.phrases import pattern
from gistread.readers.quoting import quote_introductions
from gistread.readers.thread import without_options

NAME = "passage"
# Questions offered for a selection, with labels. The user completes the last one.
CHOICES = (
    ("Explain", "What does this mean, in plain words?"),
    ("Who is this", "Who is this?"),
    ("Refers to what", "What does this refer to?"),
    ("Define here", "What does this word mean here?"),
    ("Translate", "Translate this into "),
)
DEFINE = 3  # Index of the choice for a word
_UNTRANSLATED = "The model repeated the passage: it cannot translate it."
# Tokens of the selection and the text around it, if the question has no budget
_TOKENS = 1024
_REACH = 6_000  # Characters before and after the selection that may be shown
_MOST_WORDS = 60  # Longest selection that the question repeats in full
_SHORT_WORDS = 8
_TRANSLATION_GROWTH = 2  # A translation may have this many times the tokens
_AFTER_WEIGHT = 2  # Of distances after a selection: the text before it explains more


def abbreviate(text: str, most_words: int = _SHORT_WORDS) -> str:
    """The text on one line in quotation marks, without the middle if it is long.

    >>> abbreviate("It was the best of times, it was the worst of times", most_words=6)
    '“It was the … worst of times”'
    """
    words = text.translate(str.maketrans("“”", "‘’")).split()
    half = most_words // 2
    if len(words) > most_words:
        words = [*words[:half], "…", *words[-half:]]
    return f"“{' '.join(words)}”"


def question_about(selection: Span, question: str, book: Book) -> str:
    """The question with the selection, as it is shown and saved."""
    start, end = selection
    return f"{abbreviate(book.text[start:end])}: {question}"


def question_alone(selection: Span | None, shown: str, book: Book) -> str:
    """Remove the selection from a question: the reverse of `question_about`."""
    if not selection:
        return shown
    return shown.removeprefix(question_about(selection, "", book))


def extend_bound(selection: Span | None, bound: int | None, book: Book) -> int | None:
    """Extend the bound to the end of the selection's last sentence, which the user sees."""
    if selection is None or bound is None:
        return bound
    _, end = selection
    if end <= bound:
        return bound
    _, sentence_end = sentence_at(book, end - 1)
    return max(end, sentence_end)


def is_translation(question: str) -> bool:
    return bool(pattern("asks_for_translation").match(question))


async def about_selection(asking: Asking) -> ReaderEvents:
    """Answer a question about `options.selection`, within the bound (`extend_bound`)."""
    memory, selection = asking.memory, asking.options.selection
    assert selection is not None
    start, end = selection
    words = " ".join(memory.book.text[start:end].split())
    thread, separator, own = asking.question.rpartition("\nQuestion: ")
    about = f"{thread}{separator}About {abbreviate(words, _MOST_WORDS)}: {own}"
    text = BookText.of(replace(asking, question=about), NAME)
    question = without_options(asking.question)
    who: Introductions | None = None
    if pattern("asks_who_it_is").match(question):
        who = await asyncio.to_thread(introductions, f"Who is {words}?", memory)
    if is_translation(question):
        answered = _translation(question, selection, text)
    elif who and who.sentences and not text.options.model.is_believed:
        answered = quote_introductions(who, text)
    else:
        introduced = who.sentences if who else ()
        answered = _answer(passages_around(selection, memory.book), introduced, text)
    async with aclosing(answered) as stream:
        async for event in stream:
            yield event


async def _answer(
    near: list[Passage], introduced: tuple[Passage, ...], text: BookText
) -> ReaderEvents:
    """Answer from the selection, the `introduced` sentences and the text `near`."""
    options = text.options
    nearest = near[:1]  # The passage of the selection
    introducing = [place for place in introduced if not overlaps(nearest, place)]
    others = [place for place in near[1:] if not overlaps(introducing, place)]
    assert options.selection is not None
    if not options.wording:  # An adapter was not trained on marked text.
        around = "".join(text.memory.book.text[start:end] for start, end in near)
        text.marked = Marked.in_text(options.selection, around)
    tokens = min(options.budget_tokens or _TOKENS, options.model.passage_tokens)
    shown = await text.fit([*nearest, *introducing, *others], tokens)
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT)
    # The model knows what words mean, even if the book does not say.
    must_answer = kind_of(text.question) is Kind.MEANING
    async for event in text.answer(shown, must_answer=must_answer):
        yield event


def passages_around(selection: Span, book: Book) -> list[Passage]:
    """The selection in whole sentences, then the text around it, nearest first.

    Distances after it count more.
    """
    start, end = selection

    def distance(place: Passage) -> int:
        place_start, place_end = place
        if place_end <= start:
            return start - place_end
        return _AFTER_WEIGHT * (place_start - end)

    first = book.paragraph_index(max(0, start - _REACH))
    last = book.paragraph_index(min(len(book.text), end + _REACH))
    passages = split_into_passages(
        book, book.paragraphs[first].start, book.paragraphs[last].end
    )
    own = [place for place in passages if overlaps([selection], place)]
    others = [place for place in passages if place not in own]
    return [*own, *sorted(others, key=distance)]


async def _translation(question: str, selection: Span, text: BookText) -> ReaderEvents:
    """Let the model translate the selection; "not found" if it only repeats it."""
    engine = text.engine
    start, end = selection
    words = text.memory.book.text[start:end].strip()
    prompt = user_prompt("translate", text=words, question=question)
    most = max(text.answer_tokens, _TRANSLATION_GROWTH * await engine.count(words))
    needed = await engine.measure(prompt)
    window = engine.info.context_tokens
    if needed + most > window:
        raise PromptTooLongError(needed, most, window)
    text.options = replace(text.options, answer_tokens=most)
    seen = (selection,)
    yield text.started(seen)
    yield Shown(seen)
    yield Stopped(StopReason.NOTHING_LEFT)
    draft = Answered(compression_rate=100.0 * (1 - text.share(seen)), seen=seen)
    async for event in text.answer_from(draft, words, prompt):
        if isinstance(event, Answered) and _plain(event.answer) == _plain(words):
            event = replace(event, answer=_UNTRANSLATED, found=False)
        yield event


def _plain(text: str) -> str:
    """The words alone, in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))
