"""Lets a model on a server choose an option.

Decoding is constrained by the best method that the server supports. Without one, or if the server ignores it, the
options are matched with the reply, its likeliest first token, and the reply to a second request. If none matches, the
choice fails.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from gistread import prompts
from gistread.engine.protocol import NO_USAGE, Choice, Message, Prompt, Sampling
from gistread.engine.remote.chat import Request, TokenLogprobs
from gistread.engine.remote.dialects import ConstraintMethod
from gistread.engine.remote.failures import RequestRefusedError
from gistread.engine.remote.requester import Ask, Reply
from gistread.errors import EngineError

_ALTERNATIVES = 20  # Alternatives to request for each token: the most any server reports
_QUOTED_CHARACTERS = 400
_UNKNOWN_SHARE = 0.1  # Share of the probability of legal tokens that may be unreported
_PROBE = ("zq7", "vx4")  # Options no model would choose unless constrained
_MAX_VIOLATIONS = 2  # Illegal answers after which constraints are no longer used
_CHOICE = "choice"
_EXTRA_TOKENS, _EXTRA_TOKENS_JSON = 24, 96  # Tokens added to those of the option; weak models pad JSON with white space
_SPECIAL = frozenset("\\.^$*+?{}[]()|/-")
_TRIMMED = " \t\r\n\"'`*_.,:;!()“”‘’«»"


class Chooser:
    def __init__(self, candidates: Sequence[ConstraintMethod]) -> None:
        self.candidates = list(candidates)  # Methods that may work; after `probe` the first one does
        self._violations = 0

    @property
    def method(self) -> ConstraintMethod | None:
        """How choices are constrained; None if the server cannot."""
        return self.candidates[0] if self.candidates else None

    def grammar_fields(self, grammar: str) -> dict[str, Any]:
        """Fields that constrain a text to a grammar; empty if the server cannot."""
        return grammar_fields(self.method, grammar) if self.method is not None else {}

    async def probe(self, ask: Ask) -> tuple[Prompt, int]:
        """Find the first method that can force a nonsense option. Returns the prompt and its tokens, 0 if unknown."""
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
                if match_option(self.method, reply.text, _PROBE) is not None:
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
            index = match_option(self.method, reply.text, options)
            if index is not None:
                return Choice(index, _probability(reply, options, index), usage)
            self._violations += 1
            if self._violations >= _MAX_VIOLATIONS:
                self.candidates.clear()
        choice = await self._ask_in_words(prompt, options, ask)
        return Choice(choice.index, choice.probability, usage + choice.usage)

    async def _ask_in_words(self, prompt: Prompt, options: Sequence[str], ask: Ask) -> Choice:
        listed = " ".join(options) if not any(" " in option for option in options) else "\n" + "\n".join(options)
        task = prompts.load("server_choice").fill(options=listed)
        usage = NO_USAGE
        for attempt in (1, 2):
            reply = await ask(Request(_with_task(prompt, task), _sampling(options), logprobs=_ALTERNATIVES))
            usage += reply.usage
            index = match_option(None, reply.text, options)
            if index is None:
                index = _likeliest(reply.logprobs, options)
            if index is not None:
                return Choice(index, _probability(reply, options, index) if attempt == 1 else None, usage)
            said = " ".join(reply.text.split())[:_QUOTED_CHARACTERS] or "…"
            task = prompts.load("server_choice_again").fill(said=said, options=listed)
        raise EngineError(
            "The server cannot constrain answers, and the model chose none of the options offered.",
            "Use a server or a model that can; `gistread docs models` names them.",
        )


def _with_task(prompt: Prompt, task: str) -> Prompt:
    *before, last = prompt
    if last.role == "assistant":
        started = prompts.load("server_continue").fill(said=last.content.strip())
        *before, last = before
        task = f"{started}\n{task}"
    return (*before, Message(last.role, f"{last.content}\n\n{task}"))


def _probability(reply: Reply, options: Sequence[str], index: int) -> float | None:
    """The product of each token's share among the legal tokens; None if the server reports too few of these."""
    text, share, chosen_option = "", 1.0, options[index]
    tokens = [one.token for one in reply.logprobs]
    start = next((at for at in range(len(tokens)) if "".join(tokens[at:]).startswith(chosen_option)), None)
    if start is None:
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


def _likeliest(logprobs: Sequence[TokenLogprobs], options: Sequence[str]) -> int | None:
    if not logprobs:
        return None
    first = logprobs[0]
    for token, _ in sorted({**first.others, first.token: first.logprob}.items(), key=lambda one: -one[1]):
        begun = [index for index, option in enumerate(options) if token.strip() and option.startswith(token.strip())]
        if len(begun) == 1:
            return begun[0]
    return None


def choice_fields(method: ConstraintMethod, options: Sequence[str]) -> dict[str, Any]:
    match method:
        case ConstraintMethod.GRAMMAR:
            return {"grammar": "root ::= " + " | ".join(json.dumps(option, ensure_ascii=False) for option in options)}
        case ConstraintMethod.STRUCTURED:
            return {"structured_outputs": {"choice": list(options)}}
        case ConstraintMethod.GUIDED:
            return {"guided_choice": list(options)}
        case ConstraintMethod.REGEX:
            return {"regex": f"({'|'.join(map(_escape, options))})"}
        case ConstraintMethod.JSON_SCHEMA:
            return _json_format({"type": "string", "enum": list(options)})


def grammar_fields(method: ConstraintMethod, grammar: str) -> dict[str, Any]:
    """Fields that constrain the answer to a grammar; empty if the method cannot."""
    match method:
        case ConstraintMethod.GRAMMAR:
            return {"grammar": grammar}
        case ConstraintMethod.STRUCTURED:
            return {"structured_outputs": {"grammar": grammar}}
        case ConstraintMethod.GUIDED:
            return {"guided_grammar": grammar}
        case ConstraintMethod.REGEX:
            return {"ebnf": grammar}
        case ConstraintMethod.JSON_SCHEMA:
            return {}


def match_option(method: ConstraintMethod | None, reply: str, options: Sequence[str]) -> int | None:
    """Index of the option that a reply equals; without a method, quotes and case are ignored. None if not unique."""
    if method is ConstraintMethod.JSON_SCHEMA:
        try:
            answer = json.loads(reply)
        except ValueError:
            return None
        return _match_exactly(answer.get(_CHOICE) if isinstance(answer, dict) else answer, options)
    if method is not None:
        return _match_exactly(reply.strip(), [option.strip() for option in options])
    said = [reply.strip(), reply.strip(_TRIMMED), (reply.strip().splitlines() or [""])[0].strip(_TRIMMED)]
    for key in (str.strip, _trimmed, _letters):
        keys = [key(option) for option in options]
        for one in said:
            if (wanted := key(one)) and keys.count(wanted) == 1:
                return keys.index(wanted)
    return None


def _sampling(options: Sequence[str], method: ConstraintMethod | None = None) -> Sampling:
    """Enough tokens for any option: no token is shorter than a byte."""
    extra = _EXTRA_TOKENS_JSON if method is ConstraintMethod.JSON_SCHEMA else _EXTRA_TOKENS
    return Sampling(max_tokens=max(len(json.dumps(option).encode()) for option in options) + extra)


def _match_exactly(answer: object, options: Sequence[str]) -> int | None:
    return options.index(answer) if isinstance(answer, str) and list(options).count(answer) == 1 else None


def _trimmed(text: str) -> str:
    return text.strip(_TRIMMED).casefold()


def _letters(text: str) -> str:
    """Only letters and digits: `<12>` and `12` are the same label."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _json_format(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with one property: strict schemas allow nothing simpler."""
    whole = {"type": "object", "properties": {_CHOICE: schema}, "required": [_CHOICE], "additionalProperties": False}
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": _CHOICE, "strict": True, "schema": whole}}
    }


def _escape(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
