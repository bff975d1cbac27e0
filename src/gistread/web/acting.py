"""Chooses the next action of a task on a web page, always a legal one (ReadAgent, appendix D.1)."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from gistread import prompts
from gistread.book.normalise import count_words
from gistread.engine.concurrency_limit import ConcurrencyLimit
from gistread.engine.protocol import NO_USAGE, Engine, Message, Priority, Prompt, Sampling, Usage
from gistread.errors import EngineError, PromptTooLongError, UsageError
from gistread.memory.derived import ArtifactProgress, DerivedRecords, key_of
from gistread.memory.gisting import Attempt, gist_page, gist_tokens, is_short, make_attempt, samplings, wanted_words
from gistread.search.ranked import Ranker
from gistread.web.model import Action, Element, Operation, Snippet, WebPage

MAX_SNIPPETS = 5  # Most look-ups (Table 9: one, or one to five)

_MAX_SHOWN = 60  # Most snippets shown: a laptop needs many minutes for more gists
_STOP = "STOP"
_KIND = "web gist"
_PROMPTS = ("act_gist", "act_gist_again")
_STEP_TOKENS = 64
_TYPED_TOKENS = 48
# The text to type, and perhaps its closing quotation mark.
_ONE_LINE = r'root ::= [^\x00-\x20"\x7f] [^\x00-\x1f"\x7f]* "\""?'
_MAX_STEPS = 20  # Earlier steps that the model sees
_MAX_TASK_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class SnippetOpened:
    snippet: int
    step: int  # From 1


ActEvent = ArtifactProgress | SnippetOpened | Action


@dataclass(slots=True)
class _Window:
    page: WebPage
    shown: list[int]
    gists: dict[int, str]  # By snippet number; very short snippets have none
    opened: set[int] = field(default_factory=set)

    def is_open(self, number: int) -> bool:
        return number in self.opened or number not in self.gists

    def text(self, opened: Sequence[int] = ()) -> str:
        parts = []
        for number in self.shown:
            whole = self.is_open(number) or number in opened
            tag = f"(Part {number}, in full)" if whole else f"(Part {number})"
            parts.append(f"{tag}\n{self.page.snippet(number).text if whole else self.gists[number]}")
        return "\n\n".join(parts)

    def can_act(self, named: Sequence[int]) -> bool:
        """Whether the model sees an element if these snippets are open too."""
        return bool(self.elements) or any(self.page.snippet(number).elements for number in named)

    @property
    def elements(self) -> list[Element]:
        whole = (self.page.snippet(number) for number in self.shown if self.is_open(number))
        return [self.page.element(index) for snippet in whole for index in snippet.elements]

    @property
    def compression_rate(self) -> float:
        words = sum(
            self.page.snippet(number).words if self.is_open(number) else count_words(self.gists[number])
            for number in self.shown
        )
        return 100.0 * (1.0 - words / max(1, self.page.words))


async def act(
    page: WebPage,
    task: str,
    done: Sequence[str],
    engine: Engine,
    derived: DerivedRecords | None = None,
    max_snippets: int = MAX_SNIPPETS,
) -> AsyncGenerator[ActEvent, None]:
    """Choose the next step; the last event is the `Action`. Raises UsageError, PromptTooLongError, EngineError."""
    task = " ".join(task.split())
    if not task:
        raise UsageError("The task is empty.", 'Say what is to be done, as in: gistread act page.html "Search for tea"')
    if len(task) > _MAX_TASK_CHARACTERS:
        raise UsageError(f"The task has {len(task)} characters; the limit is {_MAX_TASK_CHARACTERS}.", "Shorten it.")
    chooser = _StepChooser(task, tuple(done[-_MAX_STEPS:]), engine)
    usage = NO_USAGE
    near = _nearest(page, task)
    gists: dict[int, str] = {}
    long = [number for number in sorted(near) if not is_short(page.snippet(number).text)]
    async for number, gist, cost in _gists(
        [page.snippet(number) for number in long], engine, derived or DerivedRecords()
    ):
        gists[number] = gist
        usage += cost
        yield ArtifactProgress(len(gists), len(long), usage)
    window = await _fit_window(page, near, gists, chooser)
    lookups: list[int] = []
    while len(lookups) < max_snippets or not window.can_act(lookups):
        wanted, cost = await chooser.next_snippet(window, lookups)
        usage += cost
        if wanted is None:
            break
        lookups.append(wanted)
        yield SnippetOpened(wanted, len(lookups))
    window.opened.update(lookups)
    element, operation, value, cost = await chooser.step(window)
    shown = tuple(window.shown)
    yield Action(element, operation, value, tuple(lookups), shown, window.compression_rate, usage + cost)


def _nearest(page: WebPage, task: str) -> list[int]:
    ranked = Ranker([snippet.text for snippet in page.snippets]).top(task, _MAX_SHOWN)
    order = [position + 1 for position in dict.fromkeys([*ranked, *range(len(page.snippets))])]
    first = next(number for number in order if page.snippet(number).elements)
    return list(dict.fromkeys([first, *order]))[:_MAX_SHOWN]


async def _gists(
    snippets: Sequence[Snippet], engine: Engine, derived: DerivedRecords
) -> AsyncGenerator[tuple[int, str, Usage], None]:
    places = ConcurrencyLimit(engine)

    async def gist(snippet: Snippet) -> tuple[int, str, Usage]:
        key = key_of(engine.info.fingerprint, prompts.version(*_PROMPTS), snippet.text)
        match derived.get(_KIND, key):
            case {"gist": str(known)}:
                return snippet.number, known, NO_USAGE
        async with places:
            made = await gist_page(snippet.text, engine, await _attempts(snippet, engine), Priority.INTERACTIVE)
        derived.put(_KIND, key, {"gist": made.gist.text})
        return snippet.number, made.gist.text, made.usage

    running = [asyncio.ensure_future(gist(snippet)) for snippet in snippets]
    try:
        for made in asyncio.as_completed(running):
            yield await made
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _attempts(snippet: Snippet, engine: Engine) -> tuple[Attempt, ...]:
    words = wanted_words(snippet.words)
    room = gist_tokens(snippet.words, await engine.count(snippet.text), words)
    templates = (prompts.load(name) for name in _PROMPTS)
    return tuple(
        make_attempt(template, template.fill(passage=snippet.text, words=words), sampling)
        for template, sampling in zip(templates, samplings(room), strict=True)
    )


async def _fit_window(page: WebPage, near: Sequence[int], gists: dict[int, str], chooser: "_StepChooser") -> _Window:
    context = chooser.engine.info.context_tokens
    largest = max((page.snippet(number) for number in near), key=lambda one: len(one.text))
    for reserve in (await chooser.engine.count(largest.text), 0):
        low, high = 0, len(near)
        while low < high:
            middle = (low + high + 1) // 2
            fits = await chooser.measure(_Window(page, sorted(near[:middle]), gists)) + reserve <= context
            low, high = (middle, high) if fits else (low, middle - 1)
        if low:
            return _Window(page, sorted(near[:low]), gists)
    raise PromptTooLongError(await chooser.measure(_Window(page, [near[0]], gists)), 0, context)


@dataclass(frozen=True, slots=True)
class _StepChooser:
    task: str
    done: tuple[str, ...]
    engine: Engine

    async def measure(self, window: _Window, opened: Sequence[int] = ()) -> int:
        """Tokens of the longest prompt over this window and its answer."""
        both = [self._prompt(name, window, opened) for name in ("act_lookup", "act_step")]
        return max([await self.engine.measure(prompt) for prompt in both]) + _STEP_TOKENS + _TYPED_TOKENS

    async def next_snippet(self, window: _Window, named: Sequence[int]) -> tuple[int | None, Usage]:
        """The next snippet to open, or None. Raises PromptTooLongError when no snippet with an element fits."""
        closed = [number for number in window.shown if not window.is_open(number) and number not in named]
        can_act = window.can_act(named)
        if not can_act:
            closed = [number for number in closed if window.page.snippet(number).elements]
        context = self.engine.info.context_tokens
        offered = [number for number in closed if await self.measure(window, [*named, number]) <= context]
        if not offered:
            if not can_act:
                raise PromptTooLongError(await self.measure(window, closed[:1]), 0, context)
            return None, NO_USAGE
        prompt = self._prompt("act_lookup", window)
        if named:
            prompt = (*prompt, Message("assistant", "".join(f"Part {number}, " for number in named)))
        # If no element is visible, the model must open a snippet.
        options = [*(f"Part {number}" for number in offered), *((_STOP,) if can_act else ())]
        if len(options) == 1:
            return offered[0], NO_USAGE
        choice = await self.engine.choose(prompt, options)
        return (offered[choice.index] if choice.index < len(offered) else None), choice.usage

    async def step(self, window: _Window) -> tuple[Element, Operation, str, Usage]:
        """Choose element, operation and value, each as a continuation of the same answer."""
        prompt = self._prompt("act_step", window)
        number, usage = await self._choose(prompt, "", [f"Element {one.index}" for one in window.elements])
        element = window.elements[number]
        answer = f"Element {element.index}, "
        which, cost = await self._choose(prompt, answer, [str(one) for one in element.operations])
        usage += cost
        operation = element.operations[which]
        answer += operation
        value = ""
        if operation is Operation.SELECT:
            option, cost = await self._choose(prompt, f"{answer}: ", element.options)
            value, usage = element.options[option], usage + cost
        elif operation is Operation.TYPE:
            sampling = Sampling(max_tokens=_TYPED_TOKENS, stop=('"', "\n"), grammar=_ONE_LINE)
            written = await self.engine.complete((*prompt, Message("assistant", f'{answer}: "')), sampling)
            if not written.text.strip():
                raise EngineError("The model typed nothing.", "Say in the task what to type.")
            value, cost = " ".join(written.text.split()), written.usage
            usage += cost
        return element, operation, value, usage

    async def _choose(self, prompt: Prompt, answer: str, options: Sequence[str]) -> tuple[int, Usage]:
        if len(options) == 1:
            return 0, NO_USAGE
        if answer:
            prompt = (*prompt, Message("assistant", answer))
        choice = await self.engine.choose(prompt, options)
        return choice.index, choice.usage

    def _prompt(self, name: str, window: _Window, opened: Sequence[int] = ()) -> Prompt:
        done = "; ".join(" ".join(step.split()) for step in self.done) or "nothing"
        text = prompts.load(name).fill(memory=window.text(opened), task=self.task, done=done)
        return (Message("user", text),)
