"""A model's answers without any reuse: every prompt in its own context.

The measure of all that batches, forks and continues. It also says how clear an answer is:
llama.cpp's arithmetic depends in the last bits on how tokens are cut into batches, so only answers
whose every token was well ahead of the next likeliest must be the same however they come about.
Knows llama.cpp and prompts; nothing of gistread's worker.
"""

import functools
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import llama_cpp as llama
import numpy as np
import numpy.typing as npt

from gistread.engine.protocol import Message, Prompt

CLEAR = 0.15
"""Logits (their deviation is 3) by which each token of a clear answer leads.

Batches move them by at most 0.05.
"""
ANSWER_TOKENS = 8
_BATCH = 256
_WORDS = (
    "mule",
    "inn",
    "yard",
    "road",
    "snow",
    "door",
    "lamp",
    "chest",
    "widow",
    "letter",
    "river",
    "stone",
    "bell",
)
_QUIET = llama.llama_log_callback(lambda level, text, data: None)


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt and the answer of a fresh context."""

    prompt: Prompt
    tokens: tuple[int, ...]
    """Of the prompt."""
    answer: str
    """Of `ANSWER_TOKENS` printable characters, each one token."""
    answer_tokens: tuple[int, ...]
    lead: float
    """The least by which a token of the answer led."""

    @property
    def held(self) -> tuple[int, ...]:
        """What has been evaluated once it is answered.

        Of the last token only the number is known.
        """
        return self.tokens + self.answer_tokens[:-1]


class FreshModel:
    """The weights of one of the tiny models."""

    def __init__(self, path: Path) -> None:
        llama.llama_log_set(_QUIET, None)
        parameters = llama.llama_model_default_params()
        parameters.n_gpu_layers = 0
        self._model = llama.llama_model_load_from_file(os.fsencode(path), parameters)
        assert self._model, path
        self._vocab = llama.llama_model_get_vocab(self._model)
        self._size = llama.llama_vocab_n_tokens(self._vocab)
        self.question = functools.cache(self._question)
        self.choice = functools.cache(self._choice)

    def clear_question(
        self, dice: random.Random, begin: str = "", words: int = 8
    ) -> Question:
        """A question that begins so, goes on with so many words and has a clear answer."""
        while True:
            question = self.question(
                (Message("user", f"{begin}{passage(dice, words)}"),)
            )
            if question.lead > CLEAR:
                return question

    def clear_continuation(self, question: Question) -> Question | None:
        """The question that continues this one's answer, if the answer to that is clear."""
        going_on = self.question(
            (*question.prompt, Message("assistant", question.answer))
        )
        return going_on if going_on.lead > CLEAR else None

    def _question(self, prompt: Prompt) -> Question:
        tokens = self._tokens(prompt)
        answer: list[int] = []
        leads: list[float] = []
        with _Sequence(self._model, self._size) as sequence:
            logits = sequence.feed(tokens)
            while len(answer) < ANSWER_TOKENS:
                best = int(logits.argmax())
                second, first = np.partition(logits, -2)[-2:]
                answer.append(best)
                leads.append(float(first - second))
                logits = sequence.feed([best])
        return Question(
            prompt,
            tuple(tokens),
            bytes(answer).decode("ascii"),
            tuple(answer),
            min(leads),
        )

    def _choice(self, prompt: Prompt, letters: str) -> tuple[int, float]:
        """Index of the likeliest of some letters, and by how much it leads."""
        with _Sequence(self._model, self._size) as sequence:
            legal = sequence.feed(self._tokens(prompt))[
                [ord(letter) for letter in letters]
            ]
        second, first = np.partition(legal, -2)[-2:]
        return int(legal.argmax()), float(first - second)

    def likelihood(self, prompt: Prompt, text: bytes) -> float:
        """Mean logarithm of the probabilities of these bytes, each a token, after the prompt."""
        logarithms: list[float] = []
        with _Sequence(self._model, self._size) as sequence:
            logits = sequence.feed(self._tokens(prompt))
            for token in text:
                logarithms.append(
                    float(
                        logits[token] - np.logaddexp.reduce(logits.astype(np.float64))
                    )
                )
                logits = sequence.feed([token])
        return float(np.mean(logarithms))

    def _tokens(self, prompt: Prompt) -> list[int]:
        begun = prompt[-1].content if prompt[-1].role == "assistant" else ""
        messages = prompt[:-1] if begun else prompt
        parts = [f"<|{message.role}|>{message.content}<|end|>" for message in messages]
        text = "".join(parts) + "<|assistant|>" + begun
        room = len(text) + 8
        buffer = (llama.llama_token * room)()
        count = llama.llama_tokenize(
            self._vocab, text.encode(), len(text), buffer, room, False, True
        )
        return list(buffer[:count])


class _Sequence:
    """A context with one sequence."""

    def __init__(self, model: llama.llama_model_p, vocabulary: int) -> None:
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = 2048
        parameters.n_batch = parameters.n_ubatch = _BATCH
        parameters.n_threads = parameters.n_threads_batch = 1
        self._context = llama.llama_init_from_model(model, parameters)
        self._vocabulary = vocabulary
        self._length = 0
        self._batch = llama.llama_batch_init(_BATCH, 0, 1)

    def feed(self, tokens: Sequence[int]) -> npt.NDArray[np.float32]:
        """The logits after these tokens."""
        for start in range(0, len(tokens), _BATCH):
            chunk = tokens[start : start + _BATCH]
            self._batch.n_tokens = len(chunk)
            for index, token in enumerate(chunk):
                self._batch.token[index] = token
                self._batch.pos[index] = self._length + index
                self._batch.n_seq_id[index] = 1
                self._batch.seq_id[index][0] = 0
                self._batch.logits[index] = index == len(chunk) - 1
            assert llama.llama_decode(self._context, self._batch) == 0
            self._length += len(chunk)
        logits = llama.llama_get_logits_ith(self._context, -1)
        return np.array(np.ctypeslib.as_array(logits, shape=(self._vocabulary,)))

    def __enter__(self) -> "_Sequence":
        return self

    def __exit__(self, *_: object) -> None:
        llama.llama_batch_free(self._batch)
        llama.llama_free(self._context)


def passage(dice: random.Random, words: int) -> str:
    """So many words, some five bytes each: tokens, for a model that reads bytes."""
    return " ".join(dice.choice(_WORDS) for _ in range(words))
