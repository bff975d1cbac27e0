"""Samples the next token of a sequence: freely, or among a set of options."""

import ctypes
from collections.abc import Sequence
from typing import Any

import llama_cpp as llama
import numpy as np

from gistread.engine.llama.worker.context import Context
from gistread.engine.llama.worker.prefix_tree import common_prefix
from gistread.engine.llama.worker.weights import Weights
from gistread.engine.protocol import Sampling

_PENALTY_WINDOW = 256  # Tokens considered by the repetition penalties: about one gist
_DRY_BASE = 1.75
_DRY_ALLOWED_LENGTH = 3
_DRY_BREAKERS = (b"\n", b":", b'"', b"*")
_NO_OPTION = b"\0"  # Never a prefix of anything

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class FreeSampler:
    """Samples freely, or within a grammar. Owns its llama.cpp samplers; call `close`."""

    def __init__(self, weights: Weights, sampling: Sampling) -> None:
        """Raises ValueError for an invalid grammar."""
        self._vocabulary = weights.vocabulary
        self._scores: list[float] | None = [] if sampling.scored else None
        self._grammar: object = None
        if sampling.grammar:
            self._grammar = llama.llama_sampler_init_grammar(
                weights.vocab, sampling.grammar.encode(), b"root"
            )
            if not self._grammar:
                raise ValueError(f"invalid grammar: {sampling.grammar[:200]}")
        parameters = llama.llama_sampler_chain_default_params()
        self._chain = llama.llama_sampler_chain_init(parameters)
        if sampling.repeat_penalty != 1.0:
            self._add(_penalties(weights, sampling.repeat_penalty))
        if sampling.dry_multiplier > 0.0:
            self._add(_dry(weights, sampling.dry_multiplier))
        if sampling.temperature > 0.0:
            self._add(llama.llama_sampler_init_temp(sampling.temperature))
            self._add(llama.llama_sampler_init_dist(sampling.seed))
        else:
            self._add(llama.llama_sampler_init_greedy())

    def sample(self, context: Context, output: int) -> int:
        """Sample the token after the `output`-th of the context's last batch."""
        token = self._sample(context, output)
        if self._scores is not None:
            logits = _logits(context, output, self._vocabulary)
            highest = logits.max()
            log_sum = np.log(np.exp(logits - highest).sum())
            self._scores.append(float(logits[token] - highest - log_sum))
        return token

    @property
    def log_probability(self) -> float | None:
        """Mean over the tokens sampled, before penalties; None unless `Sampling.scored`."""
        if not self._scores:
            return None
        return sum(self._scores) / len(self._scores)

    def _sample(self, context: Context, output: int) -> int:
        """Sample a token, with the grammar if there is one, and tell the samplers."""
        if self._grammar is None:
            return int(llama.llama_sampler_sample(self._chain, context.handle, output))
        token = self._choose(context, output)
        # Checking the whole vocabulary against a grammar is slow, and the first choice is usually
        # legal.
        if not self._is_legal(token):
            token = self._choose(context, output, legal_only=True)
        llama.llama_sampler_accept(self._chain, token)
        llama.llama_sampler_accept(self._grammar, token)
        return token

    def close(self) -> None:
        llama.llama_sampler_free(self._chain)
        if self._grammar is not None:
            llama.llama_sampler_free(self._grammar)

    def _choose(
        self, context: Context, output: int, *, legal_only: bool = False
    ) -> int:
        """The token that the chain selects, without telling the samplers."""
        data = np.empty(self._vocabulary, dtype=_TOKEN_DATA)
        data["id"] = np.arange(self._vocabulary, dtype=np.int32)
        data["logit"] = _logits(context, output, self._vocabulary)
        candidates = _array(data)
        if legal_only:
            llama.llama_sampler_apply(self._grammar, ctypes.byref(candidates))
        llama.llama_sampler_apply(self._chain, ctypes.byref(candidates))
        return int(candidates.data[candidates.selected].id)

    def _is_legal(self, token: int) -> bool:
        """Whether the grammar allows a token; it sets the logits of others to minus infinity."""
        data = np.array([(token, 1.0, 0.0)], dtype=_TOKEN_DATA)
        candidates = _array(data)
        llama.llama_sampler_apply(self._grammar, ctypes.byref(candidates))
        return bool(np.isfinite(data["logit"][0]))

    def _add(self, sampler: object) -> None:
        llama.llama_sampler_chain_add(self._chain, sampler)


def _penalties(weights: Weights, repeat_penalty: float) -> object:
    """A sampler that makes recently decoded tokens less likely."""
    no_penalty = 0.0  # By frequency and by presence
    return llama.llama_sampler_init_penalties(
        weights.vocabulary, _PENALTY_WINDOW, repeat_penalty, no_penalty, no_penalty
    )


def _dry(weights: Weights, multiplier: float) -> object:
    """A sampler that makes continuing a repeated sequence less likely."""
    breakers = (ctypes.c_char_p * len(_DRY_BREAKERS))(*_DRY_BREAKERS)
    return llama.llama_sampler_init_dry(
        weights.vocab,
        multiplier,
        _DRY_BASE,
        _DRY_ALLOWED_LENGTH,
        _PENALTY_WINDOW,
        breakers,
        len(_DRY_BREAKERS),
    )


class OptionSampler:
    """Chooses one of several strings with constrained decoding: every reply is an option.

    Ends as soon as one option is left.
    """

    def __init__(self, weights: Weights, options: Sequence[str]) -> None:
        self._weights = weights
        self._names = list(options)
        self._options = [option.encode() for option in options]
        self._text = b""
        # Product over the tokens so far, each relative to the legal tokens
        self.probability = 1.0
        # What the first and the last in alphabetical order share, all share.
        first = min(options)
        last = max(options)
        # The only option is not shared with any: it would leave nothing to sample.
        shared = "" if first == last else first[: common_prefix(first, last)]
        # Tokens that every option begins with, evaluated with the prompt.
        self.common_tokens = weights.tokens_of(shared)
        for token in self.common_tokens:
            self._text += weights.piece(token)

    @property
    def chosen(self) -> int | None:
        """Index of the only option that is still possible; None if there are several."""
        possible = [
            index
            for index, option in enumerate(self._options)
            if option.startswith(self._text)
        ]
        return possible[0] if len(possible) == 1 else None

    def sample(self, context: Context, output: int) -> int:
        """The likeliest legal token. An end of turn chooses the option that is complete."""
        legal = self._legal()
        if not legal.size:
            raise ValueError(f"this model has no tokens that spell {self._names!r}")
        logits = _logits(context, output, self._weights.vocabulary)[legal]
        best = int(logits.argmax())
        self.probability *= float(1.0 / np.exp(logits - logits[best]).sum())
        token = int(legal[best])
        if self._weights.ends_turn(token):
            # Only the complete option remains possible.
            self._options = [
                option if option == self._text else _NO_OPTION
                for option in self._options
            ]
        else:
            self._text += self._weights.piece(token)
        return token

    def _legal(self) -> "np.ndarray[Any, Any]":
        """Tokens that continue some option, ascending.

        Looked up by spelling: a grammar would check the whole vocabulary, which takes a second for
        a hundred options.
        """
        spelled = self._weights.spelled
        start = len(self._text)
        possible = [option for option in self._options if option.startswith(self._text)]
        pieces: set[bytes] = set()
        for option in possible:
            longest_end = min(len(option), start + self._weights.longest_piece)
            ends = range(start + 1, longest_end + 1)
            pieces.update(option[start:end] for end in ends)
        tokens = {token for piece in pieces for token in spelled.get(piece, ())}
        if self._text in possible:
            tokens.update(self._weights.turn_ends)
        return np.array(sorted(tokens), dtype=np.int64)


Sampler = FreeSampler | OptionSampler


def _logits(context: Context, output: int, size: int) -> "np.ndarray[Any, Any]":
    """Logits of the vocabulary: a view, valid until the next decode."""
    pointer = llama.llama_get_logits_ith(context.handle, output)
    return np.ctypeslib.as_array(pointer, shape=(size,))


def _array(data: "np.ndarray[Any, Any]") -> Any:
    """llama.cpp's view of an array, which must outlive the view."""
    return llama.llama_token_data_array(
        data=data.ctypes.data_as(llama.llama_token_data_p),
        size=len(data),
        selected=-1,  # None yet
        sorted=False,
    )
