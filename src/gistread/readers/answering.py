"""Asks the model for one question: choices, notes, and the answer.

The answer is streamed, checked for loops, and tidied.
"""

import math
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

from gistread import prompts
from gistread.engine import protocol
from gistread.engine.protocol import (
    NO_USAGE,
    Completion,
    Engine,
    Finish,
    Message,
    Prompt,
    Sampling,
    TextDelta,
    Usage,
)
from gistread.memory.guard import clean, without_control_tokens
from gistread.memory.model import GistMemory
from gistread.memory.passages import Passage
from gistread.readers import reply_forms
from gistread.readers.absence import NO_ABSENCE, Absence, judged_absence, says_not_found
from gistread.readers.events import (
    AnswerDelta,
    Answered,
    ReaderEvents,
    Restarted,
    Written,
)
from gistread.readers.evidence import TellingSentences
from gistread.readers.kinds import form_of
from gistread.readers.model_class import LARGE, ModelClass
from gistread.readers.phrases import pattern
from gistread.readers.references import References
from gistread.readers.steering import Steering
from gistread.readers.thread import LETTERS, Thread, without_options
from gistread.search.tokens import ARTICLES, folded, language_of
from gistread.word_patterns import PART, WORD

SHORT_TOKENS = 40  # Longest answer in a few words
NOTE_TOKENS = 64
STOP_OF_NOTES = ("\n\n", "\n---")
REPEAT_PENALTY = 1.1  # Mild: names have to be repeated
_ANSWER_SHARE = 0.25  # Largest share of the window that is kept for the answer
STOP = "STOP"  # The model's choice when it wants no more
# Longest choice with words: the JSON, the option and some forty tokens
SAID_TOKENS = 64
_OPTION_TOKENS = 8  # Longest option with its separator
# Stop a model that continues the prompt instead of ending; a weak one also repeats the rule above
# the task.
_STOP = ("\nQuestion:", "\n(Page ")
_STOP_WEAK = (*_STOP, "\n---")

_ENDS = re.compile(r"[.!?。！？\n]")
# A full stop, with quotation marks and references after it (‘home.” [3]’), or a line break
_SENTENCE_END = re.compile(r"(?:[.!?…。！？][\"'”’»)\]*]*(?:\s*\[[\d, ]+\])*|\n)\s*\Z")
_SENTENCE_ENDS = re.compile(
    r"(?:[.!?…。！？][\"'”’»)\]*]*(?:\s*\[[\d, ]+\])*(?=\s)|\n)"
)
# "Answer:", "**Answer:** "
_ANSWER_LABEL = re.compile(r"\A\W{0,3}answer\W{0,2}:[\s*_]*", re.IGNORECASE)
# The last tokens before the limit of an answer; it ends with a sentence in them
_ENDING_TOKENS = 48
_ENDING_SHARE = 0.25  # The same as a share of a short limit
_LONGEST_LOOP = 160  # Characters of a piece that may be repeated
_LEAST_LOOPING = 30  # Characters of all its repetitions
_LEAST_REPEATS = 3  # Of a short piece or run: "no, no" is said
_LONG_RUN = 4  # Words of a run that is not said twice in a row
_LEAST_REPEATED_WORDS = 6  # Of all repetitions of a shorter run
_LEAST_KEPT = 0.5  # Share of a cut answer that stays when it is cut back to a sentence
_LONGEST_RUN = 40  # Words of a run that may be repeated; longer ones are sentences

# What the numbers of a prompt stand for, by prompt.
_NUMBERED_UNITS = {
    "answer": "page",
    "answer_passages": "passage",
    "leader_answer": "part",
    "leaf_answer": "page",
    "notebooks_answer": "note",
    "notes_answer": "note",
}


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Limits for one question, and what may be used for it."""

    max_pages: int = 5  # Most look-ups (ReadAgent: 1 to 5, and 1 to 6 for QuALITY)
    answer_tokens: int = 0  # Longest answer; 0: by the kind of question (`kinds.py`)
    # Most tokens of passages in the prompt of the answer, for readers of the book's own text;
    # 0: as many as fit
    budget_tokens: int = 0
    # Most seconds to evaluate text before the first word of the answer; 0: no limit
    first_word_s: float = 0.0
    # The options of a multiple-choice question, in the order shown; the answer is one of them.
    choices: tuple[str, ...] = ()
    model: ModelClass = LARGE  # How questions are put to the model
    # Earlier questions and answers; only those within the spoiler bound are used
    thread: Thread = ()
    # Start and end of the selected text that the question is about
    selection: tuple[int, int] | None = None
    wording: str = ""  # Of the prompts; see `EngineInfo.wording`
    # The beginning of an answer that was cut off; the model continues it
    begun: str = ""
    # Name of the prompt that introduces the text; empty: chosen by the share of the book shown
    opening: str = ""


def user_prompt(name: str, wording: str = "", **values: object) -> Prompt:
    return (Message("user", prompts.load(name, wording).fill(**values)),)


@dataclass(slots=True)
class _Written:
    """What the model has written of an answer."""

    text: str = ""
    finish: Finish = "end"
    usage: Usage = NO_USAGE


@dataclass(slots=True)
class Asking:
    """Everything a reader needs to answer one question, and the cost so far."""

    question: str
    memory: GistMemory
    engine: Engine
    steering: Steering
    options: ReaderOptions
    usage: Usage = field(default=NO_USAGE, kw_only=True)

    @classmethod
    def of(cls, asking: "Asking", *own: Any) -> Self:
        """The same question with a reader's `own` state."""
        return cls(
            asking.question,
            asking.memory,
            asking.engine,
            asking.steering,
            asking.options,
            *own,
        )

    @property
    def answer_tokens(self) -> int:
        """Longest answer: as set, else by the kind of question and the window."""
        if self.options.answer_tokens:
            return self.options.answer_tokens
        most = int(_ANSWER_SHARE * self.engine.info.context_tokens)
        return min(most, form_of(self.question).tokens)

    @property
    def is_asked_to_cite(self) -> bool:
        """Whether the prompt numbers its passages and asks for those numbers."""
        options = self.options
        return options.model.cites and not options.wording and not options.choices

    @property
    def _writes_choice(self) -> bool:
        """Whether the model writes the option out, since it cannot choose reliably by letter."""
        return bool(self.options.choices) and not self.options.model.chooses

    def to_cite(
        self, numbered: Iterable[tuple[int, Passage]]
    ) -> tuple[tuple[int, Passage], ...]:
        """These numbered places, if the model is asked to cite them; else none."""
        if not self.is_asked_to_cite:
            return ()
        return tuple(numbered)

    def compression_rate(self, words: int) -> float:
        """100·(1 − words of the prompt ÷ words of the book)."""
        return 100.0 * (1.0 - words / max(1, self.memory.book.words))

    def answer_prompt(
        self,
        name: str,
        *,
        cacheable_prefix: int = 0,
        must_answer: bool = False,
        task: str = "",
        **values: object,
    ) -> Prompt:
        """The prompt `name` with the one instruction that fits the question.

        `cacheable_prefix`: see `Message`. `must_answer`: offers no "not found". `task`: the prompt
        with the instruction; empty: by the kind of question.
        """
        options = self.options
        question = self.question
        if self._writes_choice:
            question = without_options(question)
        is_answer_needed = must_answer or bool(options.choices)
        may_abstain = options.model.abstains and not is_answer_needed
        instruction = self._task(name, task, may_abstain=may_abstain)
        way_out = ""
        if may_abstain and not options.wording:
            way_out = f" {prompts.load('way_out').text}"
        values = {"question": question, **values}
        template = prompts.load(name, options.wording)
        filled = template.fill(**values, way_out=way_out, task=instruction)
        if not options.begun:
            return (Message("user", filled, cacheable_prefix),)
        # To continue a cut answer, the model is shown it as its own.
        return (
            Message("user", filled),
            Message("assistant", options.begun),
            Message("user", prompts.load("task_go_on").text),
        )

    def opening(self, *, is_whole: bool = False) -> str:
        """The sentences after the text of the book that say what text it is."""
        if self.options.opening:
            return prompts.load(self.options.opening).text
        is_bounded = self.memory.bound_share < 1
        name = "opening_parts"
        if is_whole:
            name = "opening_begun" if is_bounded else "opening_whole"
        opening = prompts.load(name).text
        if is_bounded:
            opening += f" {prompts.load('reads_on').text}"
        return opening

    def _task(self, name: str, task_name: str, *, may_abstain: bool) -> str:
        """The instruction at the end of the prompt `name`."""
        options = self.options
        if options.choices and not self._writes_choice:
            return prompts.load("task_choice", options.wording).text
        if options.wording:
            trained = "task_answer" if may_abstain else "task_answer_always"
            return prompts.load(trained, options.wording).text
        task = prompts.load(task_name or form_of(self.question).task).text
        question = pattern("about_selection").sub("", without_options(self.question))
        if language_of(question, "en") != "en" or not question.isascii():
            task += f" {prompts.load('task_language').text}"
        if name in _NUMBERED_UNITS and self.is_asked_to_cite:
            task += f" {prompts.load('task_cite').fill(unit=_NUMBERED_UNITS[name])}"
        return task

    async def complete(self, prompt: Prompt, sampling: Sampling) -> str:
        return (await self.complete_scored(prompt, sampling)).text

    async def complete_scored(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """The completion, with the log-probability of its text if `sampling` wants it."""
        completion = await self.engine.complete(prompt, sampling)
        self.usage += completion.usage
        return completion

    async def choose(self, prompt: Prompt, options: Sequence[str], default: int) -> int:
        """The index of one of these options; `default` if the model names none."""
        choice = await protocol.choose_or(self.engine, prompt, options, default)
        self.usage += choice.usage
        return choice.index

    async def choose_and_say(
        self,
        prompt: Prompt,
        options: Sequence[str],
        otherwise: Prompt,
        key: str = "reason",
    ) -> tuple[int, str]:
        """The index of an option, and the words under `key`.

        `prompt` asks for JSON. If the reply has no legal option, as on a server that ignores the
        grammar, the model chooses again: `otherwise` asks for the option alone.
        """
        form = reply_forms.choice_with_words(options, key)
        sampling = Sampling(
            SAID_TOKENS,
            repeat_penalty=REPEAT_PENALTY,
            grammar=form.grammar,
            schema=form.schema,
        )
        reply = await self.complete(prompt, sampling)
        named = reply_forms.read_choice(reply)
        if named not in options:
            return await self.choose(otherwise, options, len(options) - 1), ""
        return options.index(named), reply_forms.read_words(reply)

    async def choose_several(
        self, prompt: Prompt, options: Sequence[str], most: int
    ) -> list[int]:
        """The indices of up to `most` options, the best first.

        `prompt` asks for them in a list that ends with STOP. If the reply has neither, the model
        chooses one, or STOP.
        """
        form = reply_forms.several_choices(options, most, STOP)
        tokens = _OPTION_TOKENS * (most + 2)
        sampling = Sampling(tokens, grammar=form.grammar, schema=form.schema)
        reply = await self.complete(prompt, sampling)
        named = reply_forms.read_several(reply, STOP)
        legal = [name for name in dict.fromkeys(named) if name in options][:most]
        if legal or STOP in named:
            return [options.index(name) for name in legal]
        index = await self.choose(prompt, [*options, STOP], len(options))
        if index >= len(options):
            return []
        return [index]

    async def take_note(self, prompt: Prompt) -> str:
        """What the model notes, on one line; empty if that adds nothing."""
        sampling = Sampling(
            NOTE_TOKENS, repeat_penalty=REPEAT_PENALTY, stop=STOP_OF_NOTES
        )
        written = await self.complete(prompt, sampling)
        note = " ".join(written.split())
        if adds_nothing(note):
            return ""
        return note

    async def answer_from(
        self,
        draft: Answered,
        text: str,
        prompt: Prompt,
        numbered: Sequence[tuple[int, Passage]] = (),
    ) -> AsyncGenerator[AnswerDelta | Restarted | Written | Answered, None]:
        """Stream the answer. The last event is `draft` with the answer and the cost filled in.

        A draft that is "not found" stays so. `text`: everything in the prompt that is from the
        book. `numbered`: the passages of the prompt, by the numbers to cite.
        """
        if text:
            draft = replace(draft, context_tokens=await self.engine.count(text))
        if self.options.choices:
            answered = await self._choose_answer(draft, prompt)
            yield AnswerDelta(answered.answer)
            yield answered
            return
        writing = self._write_answer(draft, prompt, dict(numbered))
        async with aclosing(writing) as events:
            async for event in events:
                yield event

    async def _choose_answer(self, draft: Answered, prompt: Prompt) -> Answered:
        """The draft with the option that the model chooses."""
        texts = [" ".join(choice.split()) for choice in self.options.choices]
        labels = texts if self._writes_choice else list(LETTERS[: len(texts)])
        choice = await self.engine.choose(prompt, labels)
        self.usage += choice.usage
        answer = texts[choice.index]
        return replace(draft, answer=answer, usage=self.usage, choice=choice.index)

    async def _write_answer(
        self, draft: Answered, prompt: Prompt, numbered: Mapping[int, Passage]
    ) -> AsyncGenerator[AnswerDelta | Restarted | Written | Answered, None]:
        """Stream the answer, then the draft with the whole answer, tidied and judged."""
        telling = TellingSentences(without_options(self.question), self.memory)
        new_references = partial(References, numbered, telling)
        written = _Written()
        streaming = self._stream_answer(written, prompt, new_references)
        async with aclosing(streaming) as stream:
            async for event in stream:
                yield event
        yield Written()
        usage = written.usage
        # A stream that ended early has not counted the prompt.
        if not usage.prefilled and not usage.reused:
            usage = replace(usage, prefilled=await self.engine.measure(prompt))
        self.usage += usage
        text, finish = self._tidied(written.text, written.finish)
        # Tidying may have removed references that were streamed, so they are numbered again.
        references = new_references()
        answer = (references.add(text) + references.rest()).strip()
        absence = await self._absence_in(answer)
        tells_something = bool(answer) and not absence.is_all_of(answer)
        yield replace(
            draft,
            answer=answer,
            found=draft.found and tells_something,
            absence=absence.statements,
            usage=self.usage,
            cited=references.cited,
            finish=finish,
        )

    async def _absence_in(self, answer: str) -> Absence:
        """The statements of the answer that say the book does not tell, as the model judges it."""
        # An answer about a selection may repeat its negations, which do not concern the book.
        if self.options.selection or not self.options.model.judges_absence:
            return NO_ABSENCE
        question = without_options(self.question)
        absence = await judged_absence(question, answer, self.engine)
        self.usage += absence.usage
        return absence

    async def _stream_answer(
        self,
        written: _Written,
        prompt: Prompt,
        new_references: Callable[[], References],
    ) -> AsyncGenerator[AnswerDelta | Restarted, None]:
        """Stream the answer with its references resolved, and fill `written` with the raw text.

        Ends early when the answer repeats itself, or is long and a sentence ends.
        """
        stop = _STOP if self.options.model.is_believed else _STOP_WEAK
        sampling = Sampling(
            self.answer_tokens, repeat_penalty=REPEAT_PENALTY, stop=stop
        )
        references = new_references()
        async with aclosing(self.engine.stream(prompt, sampling)) as stream:
            async for event in stream:
                match event:
                    case TextDelta(piece, usage):
                        if self._is_ending(usage) and ends_before(written.text, piece):
                            written.finish = "length"
                            break
                        written.text += piece
                        written.usage = usage
                        if ready := references.add(piece):
                            yield AnswerDelta(ready)
                        if self._repeats_itself(written.text, piece):
                            written.finish = "length"
                            break
                    case protocol.StreamRestarted(reason):
                        written.text = ""
                        references = new_references()
                        yield Restarted(reason)
                    case Completion():
                        written.text = event.text
                        written.finish = event.finish
                        written.usage = event.usage
        if rest := references.rest():
            yield AnswerDelta(rest)

    def _is_ending(self, usage: Usage) -> bool:
        """Whether an answer is so long that it should end with its sentence."""
        most = self.answer_tokens
        ending = min(_ENDING_TOKENS, int(_ENDING_SHARE * most))
        return self.options.model.is_believed and usage.generated > most - ending

    def _repeats_itself(self, text: str, piece: str) -> bool:
        """Whether an answer repeats itself; of a weak model, checked where a sentence ends."""
        if is_looping(text):
            return True
        if self.options.model.is_believed or not _ENDS.search(piece):
            return False
        return without_repetition(text) != text

    def _tidied(self, text: str, finish: Finish) -> tuple[str, Finish]:
        """The answer as it is stored, and why it ends.

        It has no label, control tokens or repetitions. A cut answer ends with a whole sentence.
        """
        answer = _ANSWER_LABEL.sub("", text.strip())
        if not self.options.model.is_believed:
            # What a weak model would add is worth little, so its answers are not continued.
            answer, _ = clean(without_repetition(answer), cut_off=finish != "end")
            return answer, "end"
        answer = without_control_tokens(answer).strip()
        # There is nothing to continue after a loop.
        if is_looping(text) or is_looping(answer):
            return until_sentence_end(without_repetition(answer)), "end"
        if answer and finish != "end":
            answer = until_sentence_end(answer)
        return answer, finish


# A method of answering questions: it yields events, the last `Answered`.
# Raises EngineError, PromptTooLongError, BudgetTooSmallError.
Reader = Callable[[Asking], ReaderEvents]


def ends_before(text: str, piece: str) -> bool:
    """Whether a sentence, a list item or a paragraph ends where `piece` follows."""
    # A reference may follow a full stop, and it belongs to the sentence.
    if not piece.strip() or piece.lstrip().startswith("["):
        return False
    return bool(_SENTENCE_END.search(text)) or piece.startswith("\n")


def until_sentence_end(answer: str) -> str:
    """A cut answer up to its last whole sentence or line; with an ellipsis if that is too short."""
    if _SENTENCE_END.search(answer):
        return answer
    ends = [match.end() for match in _SENTENCE_ENDS.finditer(answer)]
    if ends and ends[-1] >= _LEAST_KEPT * len(answer):
        return answer[: ends[-1]].rstrip()
    return f"{answer} …"


def is_looping(text: str) -> bool:
    """Whether a text ends in a piece that is repeated at least three times."""
    longest = min(_LONGEST_LOOP, len(text) // _LEAST_REPEATS)
    for length in range(1, longest + 1):
        times = max(_LEAST_REPEATS, math.ceil(_LEAST_LOOPING / length))
        if text.endswith(text[-length:] * times) and text[-length:].strip():
            return True
    return False


def without_repetition(text: str) -> str:
    """Cut the text before the first repetition of a run of words, such as a sentence."""
    words = list(WORD.finditer(text))
    plain = [word[0].casefold() for word in words]
    for start in range(len(words)):
        longest = min(_LONGEST_RUN, (len(words) - start) // 2)
        for length in range(1, longest + 1):
            times = _least_times(length)
            run = plain[start : start + length]
            if plain[start : start + length * times] == run * times:
                return text[: words[start + length].start()].rstrip()
    return text


def _least_times(words: int) -> int:
    """How often a run of so many words must stand in a row to be a repetition."""
    if words >= _LONG_RUN:
        return 2
    return max(_LEAST_REPEATS, math.ceil(_LEAST_REPEATED_WORDS / words))


def adds_nothing(note: str) -> bool:
    """Whether a note is empty, or says "not found" or "nothing new"."""
    plain = re.sub(r"^\W+", "", note).casefold()
    return not plain or plain.startswith("nothing new") or says_not_found(note)


def words_of(answer: str) -> frozenset[str]:
    """The words without case, punctuation and diacritics, and without articles if others remain."""
    words = frozenset(folded(word) for word in PART.findall(answer.casefold()))
    return words - ARTICLES or words
