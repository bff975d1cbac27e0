"""Questions about a passage that the person selected: the model sees it with the text around it, without a memory."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.engine.protocol import Engine
from gistread.errors import PromptTooLongError
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage, split_into_passages
from gistread.readers.answering import AnswerContext, answer_from, user_prompt
from gistread.readers.book_text import BookText, overlaps
from gistread.readers.choices import without_options
from gistread.readers.events import Answered, ReaderEvent, Shown, Stopped, StopReason
from gistread.readers.gistread import UNRELIABLE_TOKENS, quote_introductions
from gistread.readers.introductions import introductions
from gistread.readers.protocol import ReaderOptions
from gistread.readers.steering import Steering

NAME = "passage"
# Questions offered for a passage, with labels. The person completes the last one.
CHOICES = (
    ("Explain", "What does this mean, in plain words?"),
    ("Who is this", "Who is this?"),
    ("Refers to what", "What does this refer to?"),
    ("Define here", "What does this word mean here?"),
    ("Translate", "Translate this into "),
)
_UNTRANSLATED = "The model repeated the passage: it cannot translate it."
DEFINE = 3  # Index of the one for a word
_TOKENS = 1024  # Budget of the passage and the text around it, without a budget for the question
_REACH = 6_000  # Characters before and after the passage that may be shown
_MOST_WORDS = 60  # Longest passage that the question repeats in full
_SHORT_WORDS = 8
_ASKS_WHO = re.compile(r"\W*who\b", re.IGNORECASE)
_ASKS_FOR_TRANSLATION = re.compile(r"\W*(?:please )?translate\b", re.IGNORECASE)


def abbreviate(passage: str, most_words: int = _SHORT_WORDS) -> str:
    """The passage on one line in quotation marks, without the middle if it is long."""
    words = passage.translate(str.maketrans("“”", "‘’")).split()
    half = most_words // 2
    cut = words if len(words) <= most_words else [*words[:half], "…", *words[-half:]]
    return f"“{' '.join(cut)}”"


def question_about(passage: Passage, question: str, book: Book) -> str:
    """The question with the passage, as it is shown and saved."""
    return f"{abbreviate(book.text[slice(*passage)])}: {question}"


def question_alone(passage: Passage | None, shown: str, book: Book) -> str:
    """Remove the passage from a question: the reverse of `question_about`."""
    return shown.removeprefix(question_about(passage, "", book)) if passage else shown


def extend_bound(passage: Passage | None, bound: int | None, book: Book) -> int | None:
    """Extend the bound to the end of the passage's last sentence, which the person sees."""
    if passage is None or bound is None or passage[1] <= bound:
        return bound
    paragraph = book.paragraphs[book.paragraph_index(passage[1] - 1)]
    ends = (paragraph.start + end for _, end in sentence_spans(book.text[paragraph.start : paragraph.end]))
    return next((end for end in ends if end >= passage[1]), passage[1])


def is_translation(question: str) -> bool:
    return bool(_ASKS_FOR_TRANSLATION.match(question))


async def about_passage(
    question: str, memory: GistMemory, engine: Engine, steering: Steering, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    """Answer a question about `options.passage`, which the bound must include (`extend_bound`); a `registry.Reader`."""
    assert options.passage is not None
    start, end = options.passage
    words = " ".join(memory.book.text[start:end].split())
    before, mark, own = question.rpartition("\nQuestion: ")
    text = BookText(NAME, f"{before}{mark}About {abbreviate(words, _MOST_WORDS)}: {own}", memory, engine, options)
    asked = without_options(question)
    who = introductions(f"Who is {words}?", memory) if _ASKS_WHO.match(asked) else None
    if is_translation(asked):
        said = _translation(asked, options.passage, text, memory, engine, options)
    elif who and options.is_reliable is False:
        said = quote_introductions(who, text, memory)
    else:
        near = passages_around(options.passage, memory.book)
        said = _answer(near, who.sentences if who else (), text, options)
    async with aclosing(said) as events:
        async for event in events:
            yield event


async def _answer(
    near: list[Passage], introduced: tuple[Passage, ...], text: BookText, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    further = [place for place in introduced if not overlaps(near[:1], place)]
    tokens = options.budget_tokens or _TOKENS
    if options.is_reliable is False:
        tokens = min(tokens, UNRELIABLE_TOKENS)
    wanted = [*near[:1], *further, *(place for place in near[1:] if not overlaps(further, place))]
    shown = await text.fit(wanted, tokens)
    yield text.started(shown)
    yield Stopped(StopReason.NOTHING_LEFT)
    must_answer = options.is_reliable is False and not options.knows_absence
    async for event in text.answer(shown, must_answer=must_answer):
        yield event


def passages_around(passage: Passage, book: Book) -> list[Passage]:
    """The passage in whole sentences, then the text around it, nearest first; distances after it count double."""
    start, end = passage
    low, high = (book.paragraph_index(offset) for offset in (max(0, start - _REACH), min(len(book.text), end + _REACH)))
    pieces = split_into_passages(book, book.paragraphs[low].start, book.paragraphs[high].end)
    own = [place for place in pieces if overlaps([passage], place)]
    others = [place for place in pieces if place not in own]
    others.sort(key=lambda place: start - place[1] if place[1] <= start else 2 * (place[0] - end))
    return [*own, *others]


async def _translation(
    question: str, passage: Passage, text: BookText, memory: GistMemory, engine: Engine, options: ReaderOptions
) -> AsyncGenerator[ReaderEvent, None]:
    words = memory.book.text[slice(*passage)].strip()
    prompt = user_prompt("translate", text=words, question=question)
    options = replace(options, answer_tokens=max(options.answer_tokens, 2 * await engine.count(words)))
    needed, window = await engine.measure(prompt), engine.info.context_tokens
    if needed + options.answer_tokens > window:
        raise PromptTooLongError(needed, options.answer_tokens, window)
    seen = (passage,)
    yield text.started(seen)
    yield Shown(seen)
    yield Stopped(StopReason.NOTHING_LEFT)
    context = AnswerContext(words, 100.0 * (1 - text.share(seen)), seen=seen)
    async for event in answer_from(context, prompt, question, engine, options):
        if isinstance(event, Answered) and _plain(event.answer) == _plain(words):
            yield replace(event, answer=_UNTRANSLATED)
        else:
            yield event


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
