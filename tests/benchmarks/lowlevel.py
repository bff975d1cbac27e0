"""llama.cpp itself, through the binding's low-level functions: the machine without gistread.

To be imported in a process of its own (`setting.alone`): it loads llama.cpp.
"""

import ctypes
import os
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import llama_cpp as llama


class Item(NamedTuple):
    """One token of a batch. What it says is drawn at random: speed does not depend on it."""

    position: int
    sequence: int
    wants_logits: bool


_SILENCE = llama.llama_log_callback(lambda _level, _text, _data: None)
llama.llama_log_set(_SILENCE, None)


class RawContext:
    """A model and one context over it with a unified KV cache. Use as long as the process lives."""

    def __init__(
        self, path: Path, *, cells: int, sequences: int, batch_tokens: int, threads: int
    ) -> None:
        self._model = load(path)
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = cells
        parameters.n_batch = parameters.n_ubatch = batch_tokens
        parameters.n_seq_max = sequences
        parameters.kv_unified = True
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.no_perf = True
        self._context = llama.llama_init_from_model(self._model, parameters)
        if not self._context:
            raise MemoryError(f"no room for a context of {cells} tokens")
        self._memory = llama.llama_get_memory(self._context)
        self._batch = llama.llama_batch_init(batch_tokens, 0, 1)
        self._batch_tokens = batch_tokens
        self._vocabulary = llama.llama_vocab_n_tokens(
            llama.llama_model_get_vocab(self._model)
        )
        self._random = random.Random(1)

    def evaluate(self, items: Iterable[Item]) -> float:
        """Evaluate one batch; seconds inside `llama_decode`."""
        batch = self._batch
        count = 0
        for count, item in enumerate(items, start=1):
            index = count - 1
            batch.token[index] = self._random.randrange(self._vocabulary)
            batch.pos[index] = item.position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = item.sequence
            batch.logits[index] = item.wants_logits
        batch.n_tokens = count
        started = time.perf_counter()
        status = llama.llama_decode(self._context, batch)
        # Without this the clock stops when the work is queued, not when it is done, where there is
        # a GPU.
        llama.llama_synchronize(self._context)
        seconds = time.perf_counter() - started
        if status:
            raise RuntimeError(f"llama_decode returned {status}")
        return seconds

    def prefill(self, start: int, tokens: int) -> float:
        """Evaluate so many tokens of sequence 0 from this position on, in as few batches as can be.

        Seconds.
        """
        end = start + tokens
        return sum(
            self.evaluate(
                Item(p, 0, p == end - 1)
                for p in range(at, min(end, at + self._batch_tokens))
            )
            for at in range(start, end, self._batch_tokens)
        )

    def cut(self, length: int) -> None:
        """Keep so many tokens of sequence 0, and nothing of the others."""
        llama.llama_memory_seq_keep(self._memory, 0)
        llama.llama_memory_seq_rm(self._memory, 0, length, -1)

    def share(self, sequences: int, length: int) -> None:
        """Let sequences 1 … `sequences` - 1 begin with what sequence 0 holds."""
        for sequence in range(1, sequences):
            llama.llama_memory_seq_cp(self._memory, 0, sequence, 0, length)


def convert(source: Path, target: Path, form: str) -> None:
    """Write the model with its weights in this form, as llama.cpp names it. Raises RuntimeError."""
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{form}")
    parameters.allow_requantize = True
    names = (os.fsencode(source), os.fsencode(target))
    failed = llama.llama_model_quantize(*names, ctypes.byref(parameters))
    if failed:
        raise RuntimeError(f"{source.name} cannot be converted to {form}")


def load(path: Path, *, vocabulary_only: bool = False) -> llama.llama_model_p:
    """Load a model, onto the GPU where there is one. Raises RuntimeError."""
    llama.llama_backend_init()
    parameters = llama.llama_model_default_params()
    parameters.n_gpu_layers = 999 if llama.llama_supports_gpu_offload() else 0
    parameters.vocab_only = vocabulary_only
    model: llama.llama_model_p = llama.llama_model_load_from_file(
        os.fsencode(path), parameters
    )
    if not model:
        raise RuntimeError(f"{path.name} cannot be loaded")
    return model
