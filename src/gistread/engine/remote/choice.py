"""A choice made by a model on a server: constrained by the best means that the server has, and legal whatever it says.

Where there are no means, or the server ignores them, the model is asked for an option in so many words and its reply
is held against them: what it says as it is, then the likeliest beginning where the server tells, then what it says
when asked again; at the end the option that its words are nearest to. How a request is sent, this does not know.
"""

import difflib
import math
from collections.abc import Sequence
from typing import Any

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Choice, Message, Prompt, Sampling
from gistread.engine.remote.chat import Request, TokenProbability
from gistread.engine.remote.constraints import choice_fields, chosen, grammar_fields, room_for
from gistread.engine.remote.dialects import ConstraintMethod
from gistread.engine.remote.failures import RequestRefusedError
from gistread.engine.remote.requester import Ask, Reply

_OTHERS = 20
"""Tokens that are told beside each, where the server does: no server tells more."""
_SAID_CHARACTERS = 400
_UNTOLD = 0.1
"""Of what legal tokens weigh together, that much may be missing."""
_TRIED = ("zq7", "vx4")
"""Nobody answers with these unless made to."""
_DISAPPOINTMENTS = 2
"""Illegal answers after which means are given up."""


class Chooser:
    """Choices on one server."""

    def __init__(self, candidates: Sequence[ConstraintMethod]) -> None:
        self.candidates = list(candidates)
        """Means that may work; once they have been tried the first of them does."""
        self._disappointed = 0

    @property
    def means(self) -> ConstraintMethod | None:
        """How choices are constrained; None: they are only asked for."""
        return self.candidates[0] if self.candidates else None

    def form_fields(self, grammar: str) -> dict[str, Any]:
        """What to add to a request so that a text has this form; nothing where there is no way to say so."""
        return grammar_fields(self.means, grammar) if self.means is not None else {}

    async def try_out(self, ask: Ask) -> tuple[Prompt, int]:
        """Find the means that work here: the first that makes a model say what it never would. Raises as `ask`.

        The prompt that was asked, and its tokens where the server told.
        """
        prompt = (Message("user", prompts.load("server_probe").text),)
        tokens = 0
        while self.means is not None:
            try:
                reply = await ask(Request(prompt, _sampling(_TRIED, self.means), choice_fields(self.means, _TRIED)))
            except RequestRefusedError as refusal:
                if refusal.status not in (400, 404, 422, 501):
                    raise
            else:
                tokens = tokens or reply.prompt_tokens
                if chosen(self.means, reply.text, _TRIED) is not None:
                    return prompt, tokens
            self.candidates.pop(0)
        if not tokens:
            # What is wrong with the server, or the key, is to be known now.
            tokens = (await ask(Request(prompt, Sampling(max_tokens=8)))).prompt_tokens
        return prompt, tokens

    async def choose(self, prompt: Prompt, options: Sequence[str], ask: Ask) -> Choice:
        """One of the options (distinct, not empty). Raises as `ask`, never for what the model says."""
        if len(options) == 1:
            return Choice(0, 1.0, NO_USAGE)
        usage = NO_USAGE
        if self.means is not None:
            reply = await ask(
                Request(prompt, _sampling(options, self.means), choice_fields(self.means, options), _OTHERS)
            )
            usage += reply.usage
            index = chosen(self.means, reply.text, options)
            if index is not None:
                return Choice(index, _probability(reply, options, index), usage)
            self._disappointed += 1
            if self._disappointed >= _DISAPPOINTMENTS:
                self.candidates.clear()
        choice = await self._by_words(prompt, options, ask)
        return Choice(choice.index, choice.probability, usage + choice.usage)

    async def _by_words(self, prompt: Prompt, options: Sequence[str], ask: Ask) -> Choice:
        listed = " ".join(options) if not any(" " in option for option in options) else "\n" + "\n".join(options)
        asked = _with_task(prompt, prompts.load("server_choice").fill(options=listed))
        first = await ask(Request(asked, _sampling(options), likely=_OTHERS))
        index = chosen(None, first.text, options)
        if index is None:
            index = _likeliest(first.likely, options)
        if index is not None:
            return Choice(index, _probability(first, options, index), first.usage)
        said = " ".join(first.text.split())[:_SAID_CHARACTERS] or "…"
        again = _with_task(prompt, prompts.load("server_choice_again").fill(said=said, options=listed))
        second = await ask(Request(again, _sampling(options), likely=_OTHERS))
        index = chosen(None, second.text, options)
        if index is None:
            index = _likeliest(second.likely, options)
        if index is None:
            index = _nearest(f"{second.text}\n{first.text}", options)
        return Choice(index, None, first.usage + second.usage)


def _sampling(options: Sequence[str], means: ConstraintMethod | None = None) -> Sampling:
    return Sampling(max_tokens=room_for(options, means))


def _with_task(prompt: Prompt, task: str) -> Prompt:
    """The prompt with one more thing said at its end, by the person."""
    *before, last = prompt
    if last.role == "assistant":
        begun = prompts.load("server_continue").fill(said=last.content.strip())
        *before, last = before
        task = f"{begun}\n{task}"
    return (*before, Message(last.role, f"{last.content}\n\n{task}"))


def _probability(reply: Reply, options: Sequence[str], index: int) -> float | None:
    """Of the option among all, where the server tells of its tokens: each token's share among those that are legal.

    None where legal tokens that it does not tell of might make much of a difference.
    """
    text, share = "", 1.0
    start = next((at for at in range(len(reply.likely)) if _spelled(reply.likely[at:]).startswith(options[index])), -1)
    if start < 0:
        return None
    for one in reply.likely[start:]:
        left = [option for option in options if option.startswith(text)]
        if len(left) == 1 or text == options[index]:
            break
        legal = {
            token: math.exp(logarithm)
            for token, logarithm in {**one.others, one.token: one.logarithm}.items()
            if token and any(option.startswith(text + token) for option in left)
        }
        if one.token not in legal or sum(legal.values()) == 0.0:
            return None
        untold = sum(not any(option.startswith(text + token) for token in legal) for option in left)
        least = math.exp(min(one.logarithm, *one.others.values())) if one.others else 1.0
        if untold * least > _UNTOLD * sum(legal.values()):
            return None
        share *= legal[one.token] / sum(legal.values())
        text += one.token
    return share


def _spelled(likely: Sequence[TokenProbability]) -> str:
    return "".join(one.token for one in likely)


def _likeliest(likely: Sequence[TokenProbability], options: Sequence[str]) -> int | None:
    """The option that the likeliest of the first tokens begins, of those that begin exactly one."""
    if not likely:
        return None
    first = likely[0]
    for token, _ in sorted({**first.others, first.token: first.logarithm}.items(), key=lambda one: -one[1]):
        begun = [index for index, option in enumerate(options) if token.strip() and option.startswith(token.strip())]
        if len(begun) == 1:
            return begun[0]
    return None


def _nearest(said: str, options: Sequence[str]) -> int:
    """The option that stands earliest in what was said; where none does, the one that looks most like it."""
    low = said.casefold()
    there = [(low.find(option.casefold()), -len(option), index) for index, option in enumerate(options)]
    if standing := [one for one in there if one[0] >= 0]:
        return min(standing)[2]
    likeness = [difflib.SequenceMatcher(None, low[:_SAID_CHARACTERS], option.casefold()).ratio() for option in options]
    return likeness.index(max(likeness))
