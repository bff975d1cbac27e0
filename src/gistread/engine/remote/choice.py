"""Lets a model on a server choose one of several options.

Decoding is constrained by the best method the server has. Where it has none or ignores it, the model is asked for an
option in words: its reply, the likeliest first token (if reported) and the reply to a second request are matched with
the options. If none matches, the choice fails.
"""

import math
from collections.abc import Sequence
from typing import Any

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Choice, Message, Prompt, Sampling
from gistread.engine.remote.chat import Request, TokenLogprobs
from gistread.engine.remote.constraints import choice_fields, chosen, grammar_fields, max_tokens_for
from gistread.engine.remote.dialects import ConstraintMethod
from gistread.engine.remote.failures import RequestRefusedError
from gistread.engine.remote.requester import Ask, Reply
from gistread.errors import EngineError

_ALTERNATIVES = 20
"""Alternatives to request for each token: the most any server reports."""
_QUOTED_CHARACTERS = 400
_UNKNOWN_SHARE = 0.1
"""Share of the probability of legal tokens that may be unreported."""
_PROBE = ("zq7", "vx4")
"""Options no model would choose unless constrained."""
_MAX_VIOLATIONS = 2
"""Illegal answers after which constraints are no longer used."""


class Chooser:
    """Choices on one server."""

    def __init__(self, candidates: Sequence[ConstraintMethod]) -> None:
        self.candidates = list(candidates)
        """Methods that may work; after `probe` the first one does."""
        self._violations = 0

    @property
    def method(self) -> ConstraintMethod | None:
        """How choices are constrained; None if the server cannot."""
        return self.candidates[0] if self.candidates else None

    def grammar_fields(self, grammar: str) -> dict[str, Any]:
        """Fields that constrain a text to a grammar; empty if the server cannot."""
        return grammar_fields(self.method, grammar) if self.method is not None else {}

    async def probe(self, ask: Ask) -> tuple[Prompt, int]:
        """Find the first method that makes the model choose a nonsense option. Raises as `ask`.

        Returns the prompt sent and its number of tokens, 0 if unknown.
        """
        prompt = (Message("user", prompts.load("server_probe").text),)
        tokens = 0
        while self.method is not None:
            try:
                reply = await ask(Request(prompt, _sampling(_PROBE, self.method), choice_fields(self.method, _PROBE)))
            except RequestRefusedError as refusal:
                if refusal.status not in (400, 404, 422, 501):
                    raise
            else:
                tokens = tokens or reply.prompt_tokens
                if chosen(self.method, reply.text, _PROBE) is not None:
                    return prompt, tokens
            self.candidates.pop(0)
        if not tokens:
            # Detect a problem with the server or the key now.
            tokens = (await ask(Request(prompt, Sampling(max_tokens=8)))).prompt_tokens
        return prompt, tokens

    async def choose(self, prompt: Prompt, options: Sequence[str], ask: Ask) -> Choice:
        """Choose one of the options (distinct, not empty). Raises as `ask`, and EngineError if the model names none."""
        if len(options) == 1:
            return Choice(0, 1.0, NO_USAGE)
        usage = NO_USAGE
        if self.method is not None:
            reply = await ask(
                Request(prompt, _sampling(options, self.method), choice_fields(self.method, options), _ALTERNATIVES)
            )
            usage += reply.usage
            index = chosen(self.method, reply.text, options)
            if index is not None:
                return Choice(index, _probability(reply, options, index), usage)
            self._violations += 1
            if self._violations >= _MAX_VIOLATIONS:
                self.candidates.clear()
        choice = await self._ask_in_words(prompt, options, ask)
        return Choice(choice.index, choice.probability, usage + choice.usage)

    async def _ask_in_words(self, prompt: Prompt, options: Sequence[str], ask: Ask) -> Choice:
        listed = " ".join(options) if not any(" " in option for option in options) else "\n" + "\n".join(options)
        asked = _with_task(prompt, prompts.load("server_choice").fill(options=listed))
        first = await ask(Request(asked, _sampling(options), logprobs=_ALTERNATIVES))
        index = chosen(None, first.text, options)
        if index is None:
            index = _likeliest(first.logprobs, options)
        if index is not None:
            return Choice(index, _probability(first, options, index), first.usage)
        said = " ".join(first.text.split())[:_QUOTED_CHARACTERS] or "…"
        again = _with_task(prompt, prompts.load("server_choice_again").fill(said=said, options=listed))
        second = await ask(Request(again, _sampling(options), logprobs=_ALTERNATIVES))
        index = chosen(None, second.text, options)
        if index is None:
            index = _likeliest(second.logprobs, options)
        if index is None:
            raise EngineError(
                "The server cannot constrain answers, and the model chose none of the options offered.",
                "Use a server or a model that can; docs/servers.md names them.",
            )
        return Choice(index, None, first.usage + second.usage)


def _sampling(options: Sequence[str], method: ConstraintMethod | None = None) -> Sampling:
    return Sampling(max_tokens=max_tokens_for(options, method))


def _with_task(prompt: Prompt, task: str) -> Prompt:
    """The prompt with a task added to the user's last message."""
    *before, last = prompt
    if last.role == "assistant":
        started = prompts.load("server_continue").fill(said=last.content.strip())
        *before, last = before
        task = f"{started}\n{task}"
    return (*before, Message(last.role, f"{last.content}\n\n{task}"))


def _probability(reply: Reply, options: Sequence[str], index: int) -> float | None:
    """Probability of an option among all: the product of each token's share of the legal tokens.

    None if the server reports too few of them.
    """
    text, share, chosen_option = "", 1.0, options[index]
    spelled = (at for at in range(len(reply.logprobs)) if _spelled(reply.logprobs[at:]).startswith(chosen_option))
    start = next(spelled, -1)
    if start < 0:
        return None
    for one in reply.logprobs[start:]:
        left = [option for option in options if option.startswith(text)]
        if len(left) == 1 or text == chosen_option:
            break
        legal = {
            token: math.exp(logprob)
            for token, logprob in {**one.others, one.token: one.logprob}.items()
            if token and any(option.startswith(text + token) for option in left)
        }
        if one.token not in legal or sum(legal.values()) == 0.0:
            return None
        unreported = sum(not any(option.startswith(text + token) for token in legal) for option in left)
        least = math.exp(min(one.logprob, *one.others.values())) if one.others else 1.0
        if unreported * least > _UNKNOWN_SHARE * sum(legal.values()):
            return None
        share *= legal[one.token] / sum(legal.values())
        text += one.token
    return share


def _spelled(logprobs: Sequence[TokenLogprobs]) -> str:
    return "".join(one.token for one in logprobs)


def _likeliest(logprobs: Sequence[TokenLogprobs], options: Sequence[str]) -> int | None:
    """The option begun by the likeliest first token that begins exactly one."""
    if not logprobs:
        return None
    first = logprobs[0]
    for token, _ in sorted({**first.others, first.token: first.logprob}.items(), key=lambda one: -one[1]):
        begun = [index for index, option in enumerate(options) if token.strip() and option.startswith(token.strip())]
        if len(begun) == 1:
            return begun[0]
    return None
