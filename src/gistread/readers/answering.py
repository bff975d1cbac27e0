"""The last step of every reader: a free answer, streamed and checked for loops, or the choice of an option."""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from gistread import prompts
from gistread.book.model import Book
from gistread.book.sentences import sentence_spans
from gistread.engine import protocol
from gistread.engine.protocol import NO_USAGE, Completion, Engine, Message, Prompt, Sampling, TextDelta, Usage
from gistread.memory.guard import Draft, clean, not_the_prompt
from gistread.readers.choices import LETTERS, as_sentence, without_options
from gistread.readers.events import AnswerDelta, Answered, Citation, Restarted
from gistread.readers.protocol import ReaderOptions

SHORT_TOKENS = 40  # Longest answer in a few words
_STOP = ("\nQuestion:", "\n---", "\n(Page ")  # Stops a model that continues the prompt instead of ending


@dataclass(frozen=True, slots=True)
class AnswerContext:
    text: str  # Everything in the prompt that is from the book: text, gists, summaries, notes
    compression_rate: float
    # Returns the places that support an answer to a question.
    cite: Callable[[str, str], tuple[Citation, ...]] = lambda answer, question: ()
    seen: tuple[tuple[int, int], ...] = ()  # See `Answered.seen`
    noted: tuple[tuple[int, int], ...] = ()  # See `Answered.noted`
    gists: tuple[int, ...] = ()  # See `Answered.gists`
    lookups: tuple[int, ...] = ()
    expanded: tuple[int, ...] = ()
    usage: Usage = field(default=NO_USAGE)  # Cost of everything before the answer
    has_evidence: bool = True  # False: nothing was found, so the answer cannot be trusted


def answer_prompt(
    name: str, options: ReaderOptions, *, stable: int = 0, must_answer: bool = False, **values: object
) -> Prompt:
    """The prompt `name` with the task. `stable`: see `Message`. `must_answer`: do not offer "not found"."""
    if _by_likelihood(options):
        values["question"] = without_options(str(values["question"]))
        must_answer = True
    if options.choices and not _by_likelihood(options):
        task = "task_choice"
    elif name == "answer_closed":
        task = "task_answer_closed"
    else:
        task = "task_answer_always" if must_answer else "task_answer"
    return (Message("user", prompts.load(name).fill(**values, task=prompts.load(task).text), stable),)


def compression_rate(words: int, book: Book) -> float:
    """100·(1 − words of the prompt ÷ words of the book)."""
    return 100.0 * (1.0 - words / max(1, book.words))


def user_prompt(name: str, **values: object) -> Prompt:
    return (Message("user", prompts.load(name).fill(**values)),)


async def short_answer(prompt: Prompt, engine: Engine) -> tuple[str, Usage]:
    said = await engine.complete(prompt, Sampling(SHORT_TOKENS, repeat_penalty=1.1, stop=("\n",)))
    answer = " ".join(said.text.split()).strip(" .\"'“”")
    return "" if says_not_found(answer) else answer, said.usage


async def answer_from(
    context: AnswerContext, prompt: Prompt, question: str, engine: Engine, options: ReaderOptions
) -> AsyncGenerator[AnswerDelta | Restarted | Answered, None]:
    """Stream a draft of the answer; the last event is `Answered`."""
    tokens = await engine.count(context.text) if context.text else 0
    said: AsyncGenerator[AnswerDelta | Restarted | _Result, None]
    if options.choices:
        said = _choose_option(prompt, question, engine, options)
    else:
        said = _write_answer(prompt, engine, options.answer_tokens)
    async with aclosing(said) as events:
        async for event in events:
            if not isinstance(event, _Result):
                yield event
                continue
            found = event.found and context.has_evidence
            yield Answered(
                answer=event.text,
                found=found,
                citations=context.cite(event.text, without_options(question)) if found else (),
                lookups=context.lookups,
                expanded=context.expanded,
                compression_rate=context.compression_rate,
                usage=context.usage + event.usage,
                choice=event.choice,
                seen=context.seen,
                context_tokens=tokens,
                noted=context.noted,
                gists=context.gists,
            )


@dataclass(frozen=True, slots=True)
class _Result:
    text: str
    found: bool  # False: the answer is "the book does not say"
    usage: Usage
    choice: int | None = None


async def _choose_option(
    prompt: Prompt, question: str, engine: Engine, options: ReaderOptions
) -> AsyncGenerator[AnswerDelta | _Result, None]:
    texts = [" ".join(choice.split()) for choice in options.choices]
    if _by_likelihood(options):
        without = answer_prompt("answer_passages", options, text="", question=question)
        choice = await engine.choose_likeliest(prompt, [as_sentence(text) for text in texts], without)
    else:
        choice = await engine.choose(prompt, list(LETTERS[: len(texts)]))
    text = texts[choice.index]
    yield AnswerDelta(text)
    yield _Result(text, True, choice.usage, choice.index)


def _by_likelihood(options: ReaderOptions) -> bool:
    """Whether to choose the likeliest option, since the model cannot choose reliably by letter."""
    return bool(options.choices) and options.is_reliable is False


async def _write_answer(
    prompt: Prompt, engine: Engine, max_tokens: int
) -> AsyncGenerator[AnswerDelta | Restarted | _Result, None]:
    text = ""
    finish = "end"
    usage = NO_USAGE
    sampling = Sampling(max_tokens=max_tokens, repeat_penalty=1.1, stop=_STOP)
    async with aclosing(engine.stream(prompt, sampling)) as stream:
        async for event in stream:
            match event:
                case TextDelta(piece, usage):
                    text += piece
                    yield AnswerDelta(piece)
                    if is_looping(text) or (_ENDS.search(piece) and without_repetition(text) != text):
                        finish = "length"
                        break
                case protocol.Restarted(reason):
                    text = ""
                    yield Restarted(reason)
                case Completion():
                    text, finish, usage = event.text, event.finish, event.usage
    answer = re.sub(r"\A\W{0,3}answer\W{0,2}:\W{0,3}\s*", "", text.strip(), flags=re.IGNORECASE)
    answer, _ = clean(without_repetition(answer), cut_off=finish == "length")
    yield _Result(answer, bool(answer) and not says_not_found(answer), usage)


def is_looping(text: str) -> bool:
    """Whether a text ends in a piece repeated at least three times, over at least thirty characters."""
    for length in range(1, min(160, len(text) // 3) + 1):
        times = max(3, -(-30 // length))
        if text.endswith(text[-length:] * times) and text[-length:].strip():
            return True
    return False


def repeats_prompt(statement: str) -> bool:
    task = prompts.load("task_answer").text
    return not_the_prompt(Draft(statement, "", task)) is not None


def without_repetition(text: str) -> str:
    """Cut the text before a repeated sentence or run of words, or before the third of three similar sentences."""
    words = list(_LOOP_WORD.finditer(text))
    plain = [word[0].casefold() for word in words]
    for at in range(len(words)):
        for length in range(1, min(_LONGEST_RUN, (len(words) - at) // 2) + 1):
            times = 2 if length >= 4 else max(3, -(-6 // length))
            if plain[at : at + length * times] == plain[at : at + length] * times:
                return text[: words[at + length].start()].rstrip()
    said: list[list[str]] = []
    for start, end in sentence_spans(text):
        sentence = [word[0].casefold() for word in _LOOP_WORD.finditer(text, start, end)]
        if len(sentence) >= 4:
            nearly = sum(SequenceMatcher(None, sentence, other).ratio() > _NEARLY_EQUAL for other in said)
            if sentence in said or nearly >= 2:
                return text[:start].rstrip()
            said.append(sentence)
    return text


_ENDS = re.compile(r"[.!?。！？\n]")
_LOOP_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|\w+(?:['’]\w+)*")
_LONGEST_RUN = 40  # Words of a run that may be repeated; longer ones are sentences
_NEARLY_EQUAL = 0.8
_DOES_NOT_SAY = re.compile(
    r"""
      \b(?:book|text|passages?|stor(?:y|ies)|gists?|memory|pages?|narrative|novel|excerpts?|it)
        \ (?:(?:above|given|provided)\ )?
        (?:does|do|did)\ ?(?:not|n['’]t)\ (?:\w+ly\ )?
        (?:say|tell|mention|state|specify|contain|provide|give|reveal|indicate|answer|describe|explain|include)
    | \b(?:is|are|was)\ (?:not|never)\ (?:\w+ly\ )?
        (?:mentioned|stated|specified|given|told|said|described|revealed|provided)
        \ (?:anywhere|(?:in|by)\ the\ (?:\w+\ )?(?:book|text|passages?|story|gists?|memory|pages?|novel|excerpts?))\b
    | \b(?:there\ is|contains?|provides?)\ no\ (?:mention|information|indication)\b
    | \bI\ (?:do\ not|don['’]t)\ know\b
    | \b(?:cannot|can['’]t|can\ not)\ be\ (?:determined|answered|known|found)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"\w")
_IN_OTHER_LANGUAGES = (
    "the book does not say",
    "das buch sagt es nicht",
    "das buch sagt nichts darüber",
    "le livre ne le dit pas",
    "el libro no lo dice",
    "il libro non lo dice",
    "o livro não diz",
    "het boek zegt het niet",
    "boken säger inget om det",
    "książka o tym nie mówi",
    "в книге об этом не говорится",
    "книга не говорит",
    "书中没有说",
    "这本书没有说明",
    "本には書かれていません",
    "책에는 나와 있지 않습니다",
)


def says_not_found(answer: str) -> bool:
    """Whether an answer means "the book does not say", also in other languages."""
    first = re.split(r"(?<=[.!?。！？])\s*", answer.strip(), maxsplit=1)[0]
    if _DOES_NOT_SAY.search(first):
        return True
    plain = re.sub(r"[^\w\s]", "", first).casefold().strip()
    return any(SequenceMatcher(None, plain, known).ratio() > 0.8 for known in _IN_OTHER_LANGUAGES)


def adds_nothing(note: str) -> bool:
    return (
        says_not_found(note) or re.sub(r"^\W+", "", note).casefold().startswith("nothing new") or not _WORD.search(note)
    )
