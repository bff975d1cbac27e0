"""Chooses the next action of a task on a web page, always a legal one (ReadAgent, appendix D.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gistread.engine.protocol import (
    NO_USAGE,
    Engine,
    Message,
    Priority,
    Prompt,
    Sampling,
    Usage,
)
from gistread.errors import EngineError, PromptTooLongError
from gistread.memory.gisting import (
    Attempt,
    gist_page,
    gist_tokens,
    is_short,
    make_attempt,
    samplings,
    wanted_words,
)
from gistread.search.ranked import Ranker
from gistread.words import count_words
from research import prompts
from research.web.model import Action, Element, Operation, Snippet, WebPage

MAX_SNIPPETS = 5  # Most look-ups (Table 9: one, or one to five)

_MAX_SHOWN = 60  # Most snippets shown: a laptop needs many minutes for more gists
_STOP = "STOP"
_STEP_TOKENS = 112  # Room for the answer
_TYPED_TOKENS = 48
# The text to type, and perhaps its closing quotation mark.
_ONE_LINE = r'root ::= [^\x00-\x20"\x7f] [^\x00-\x1f"\x7f]* "\""?'
_MAX_STEPS = 20  # Earlier steps that the model sees


async def act(
    page: WebPage,
    task: str,
    done: Sequence[str],
    engine: Engine,
    tell: Callable[[str], None],
    max_snippets: int = MAX_SNIPPETS,
) -> Action:
    """Choose the next step; `tell` gets each step on the way as a line.

    Raises PromptTooLongError, EngineError.
    """
    near = _nearest(page, task)
    long = [number for number in near if not is_short(page.snippet(number).text)]
    gists: dict[int, str] = {}
    usage = NO_USAGE
    for number in long:
        tell(f"gists of the page: {len(gists)} of {len(long)}")
        gists[number], cost = await _gist(page.snippet(number), engine)
        usage += cost
    steps_done = "; ".join(done[-_MAX_STEPS:]) or "nothing"
    chooser = _StepChooser(page, task, steps_done, gists, engine)
    shown = await chooser.fitting(near)
    opened: list[int] = []
    while len(opened) < max_snippets or not chooser.elements(shown, opened):
        chosen, cost = await chooser.next_snippet(shown, opened)
        usage += cost
        if chosen is None:
            break
        opened.append(chosen)
        tell(f"{len(opened)}. part {chosen} of {len(page.snippets)}")
    step = await chooser.step(shown, opened)
    return Action(
        element=step.element,
        operation=step.operation,
        value=step.value,
        lookups=tuple(opened),
        shown=tuple(shown),
        compression_rate=chooser.compression_rate(shown, opened),
        usage=usage + step.usage,
    )


def _nearest(page: WebPage, task: str) -> list[int]:
    """Numbers of the snippets, the nearest to the task first, after one with an element."""
    ranker = Ranker([snippet.text for snippet in page.snippets])
    ranked = ranker.top(task, _MAX_SHOWN)
    order = dict.fromkeys([*ranked, *range(len(page.snippets))])
    numbers = [position + 1 for position in order]
    first = next(number for number in numbers if page.snippet(number).elements)
    return list(dict.fromkeys([first, *numbers]))[:_MAX_SHOWN]


async def _gist(snippet: Snippet, engine: Engine) -> tuple[str, Usage]:
    """The gist of a snippet and its cost. Raises EngineError."""
    words = wanted_words(snippet.words)
    tokens = await engine.count(snippet.text)
    room = gist_tokens(snippet.words, tokens, words)
    templates = [prompts.load("act_gist"), prompts.load("act_gist_again")]
    attempts: list[Attempt] = []
    for template, sampling in zip(templates, samplings(room), strict=True):
        text = template.fill(passage=snippet.text, words=words)
        attempts.append(make_attempt(template, text, sampling))
    gisted = await gist_page(
        snippet.text, engine, tuple(attempts), Priority.INTERACTIVE
    )
    return gisted.gist.text, gisted.usage


@dataclass(frozen=True, slots=True)
class _Step:
    element: Element
    operation: Operation
    value: str  # Typed or selected
    usage: Usage


@dataclass(frozen=True, slots=True)
class _StepChooser:
    """Asks the model for snippets and for the next step, with prompts over a page."""

    page: WebPage
    task: str
    done: str
    # By snippet number; short snippets have none and are shown in full
    gists: dict[int, str]
    engine: Engine

    def elements(self, shown: Sequence[int], opened: Sequence[int]) -> list[Element]:
        """The elements of the snippets shown in full."""
        return [
            self.page.element(index)
            for number in shown
            if self._is_whole(number, opened)
            for index in self.page.snippet(number).elements
        ]

    def _is_whole(self, number: int, opened: Sequence[int]) -> bool:
        """Whether a snippet is shown in full."""
        return number in opened or number not in self.gists

    def compression_rate(self, shown: Sequence[int], opened: Sequence[int]) -> float:
        words = 0
        for number in shown:
            if self._is_whole(number, opened):
                words += self.page.snippet(number).words
            else:
                words += count_words(self.gists[number])
        return 100.0 * (1.0 - words / max(1, self.page.words))

    async def fitting(self, near: Sequence[int]) -> list[int]:
        """As many of the nearest snippets as fit, in the order of the page.

        Raises PromptTooLongError.
        """
        largest = max((self.page.snippet(number).text for number in near), key=len)
        # If possible with room to open any snippet, otherwise without
        room_to_open = await self.engine.count(largest)
        for reserve in (room_to_open, 0):
            count = await self._most_that_fit(near, reserve)
            if count:
                return sorted(near[:count])
        tokens = await self._measure(near[:1], ())
        raise PromptTooLongError(tokens, 0, self.engine.info.context_tokens)

    async def _most_that_fit(self, near: Sequence[int], reserve: int) -> int:
        """How many of the nearest snippets fit with so many tokens to spare, by bisection."""
        low = 0
        high = len(near)
        while low < high:
            middle = (low + high + 1) // 2
            if await self._fits(sorted(near[:middle]), (), reserve):
                low = middle
            else:
                high = middle - 1
        return low

    async def next_snippet(
        self, shown: Sequence[int], opened: Sequence[int]
    ) -> tuple[int | None, Usage]:
        """The next snippet to open, or None.

        Raises PromptTooLongError when no snippet with an element fits.
        """
        closed = [number for number in shown if not self._is_whole(number, opened)]
        can_act = bool(self.elements(shown, opened))
        if not can_act:
            closed = [number for number in closed if self.page.snippet(number).elements]
        offered = [
            number for number in closed if await self._fits(shown, [*opened, number])
        ]
        if not offered and not can_act:
            tokens = await self._measure(shown, [*opened, *closed[:1]])
            raise PromptTooLongError(tokens, 0, self.engine.info.context_tokens)
        prompt = self._prompt("act_lookup", shown, ())
        answer_so_far = "".join(f"Part {number}, " for number in opened)
        options = [f"Part {number}" for number in offered]
        # If no element is visible, the model must open a snippet.
        if can_act:
            options.append(_STOP)
        chosen, usage = await self._choose(prompt, answer_so_far, options)
        if chosen >= len(offered):
            return None, usage
        return offered[chosen], usage

    async def step(self, shown: Sequence[int], opened: Sequence[int]) -> _Step:
        """Choose element, operation and value, each as a continuation of the same answer."""
        prompt = self._prompt("act_step", shown, opened)
        elements = self.elements(shown, opened)
        labels = [f"Element {element.index}" for element in elements]
        number, usage = await self._choose(prompt, "", labels)
        element = elements[number]
        answer = f"Element {element.index}, "
        operations = list(map(str, element.operations))
        number, cost = await self._choose(prompt, answer, operations)
        usage += cost
        operation = element.operations[number]
        answer += f"{operation}: "
        value = ""
        if operation is Operation.SELECT:
            number, cost = await self._choose(prompt, answer, element.options)
            value = element.options[number]
            usage += cost
        elif operation is Operation.TYPE:
            value, cost = await self._type(prompt, f'{answer}"')
            usage += cost
        return _Step(element, operation, value, usage)

    async def _type(self, prompt: Prompt, answer: str) -> tuple[str, Usage]:
        """The text to type. Raises EngineError if it is empty."""
        sampling = Sampling(
            max_tokens=_TYPED_TOKENS, stop=('"', "\n"), grammar=_ONE_LINE
        )
        continued = (*prompt, Message("assistant", answer))
        completion = await self.engine.complete(continued, sampling)
        value = " ".join(completion.text.split())
        if not value:
            raise EngineError(
                "The model typed nothing.", "Say in the task what to type."
            )
        return value, completion.usage

    async def _choose(
        self, prompt: Prompt, answer: str, options: Sequence[str]
    ) -> tuple[int, Usage]:
        """The index of the option with which the model continues `answer`, and its cost."""
        if len(options) == 1:
            return 0, NO_USAGE
        if answer:
            prompt = (*prompt, Message("assistant", answer))
        choice = await self.engine.choose(prompt, options)
        return choice.index, choice.usage

    async def _fits(
        self, shown: Sequence[int], opened: Sequence[int], reserve: int = 0
    ) -> bool:
        tokens = await self._measure(shown, opened) + reserve
        return tokens <= self.engine.info.context_tokens

    async def _measure(self, shown: Sequence[int], opened: Sequence[int]) -> int:
        """Tokens of the longest prompt over these snippets and its answer."""
        lookup = self._prompt("act_lookup", shown, opened)
        step = self._prompt("act_step", shown, opened)
        lookup_tokens = await self.engine.measure(lookup)
        step_tokens = await self.engine.measure(step)
        return max(lookup_tokens, step_tokens) + _STEP_TOKENS

    def _prompt(self, name: str, shown: Sequence[int], opened: Sequence[int]) -> Prompt:
        parts: list[str] = []
        for number in shown:
            if self._is_whole(number, opened):
                text = self.page.snippet(number).text
                parts.append(f"(Part {number}, in full)\n{text}")
            else:
                parts.append(f"(Part {number})\n{self.gists[number]}")
        text = prompts.load(name).fill(
            memory="\n\n".join(parts), task=self.task, done=self.done
        )
        return (Message("user", text),)
