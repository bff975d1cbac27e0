"""One llama.cpp context: a KV cache and the evaluation of batches in it, for the main loop only."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

import llama_cpp as llama
import numpy as np
import numpy.typing as npt

from gistread.engine.llama.worker.weights import Weights


class DecodeError(Exception):
    """llama_decode failed and the context is unusable."""


class Outcome(Enum):
    """Result of a batch. Unless DONE, its sequences may hold part of it and must be cut back."""

    DONE = auto()
    INTERRUPTED = auto()
    FULL = auto()  # No room in the KV cache


# By the status that llama.cpp returns; others mean that it was interrupted.
_OUTCOMES = {0: Outcome.DONE, 1: Outcome.FULL}


@dataclass(frozen=True, slots=True)
class BatchToken:
    token: int
    position: int
    sequence: int
    wants_logits: bool


class Context:
    """A KV cache of `cells` tokens for `sequences` sequences.

    They share it, or divide it among them if it is not `unified`.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        cells: int,
        sequences: int,
        batch_tokens: int,
        threads: int,
        kv_type: str = "f16",
        unified: bool = True,
    ) -> None:
        """Raises MemoryError."""
        parameters = llama.llama_context_default_params()
        parameters.n_ctx = cells
        parameters.n_batch = batch_tokens
        parameters.n_ubatch = batch_tokens
        parameters.n_seq_max = sequences
        parameters.kv_unified = unified
        # Otherwise a sliding window could not be cut back exactly.
        parameters.swa_full = True
        number_type = getattr(llama, f"GGML_TYPE_{kv_type.upper()}")
        parameters.type_k = number_type
        parameters.type_v = number_type
        parameters.flash_attn_type = llama.LLAMA_FLASH_ATTN_TYPE_AUTO
        parameters.n_threads = threads
        parameters.n_threads_batch = threads
        parameters.no_perf = True
        self.handle = llama.llama_init_from_model(weights.handle, parameters)
        if not self.handle:
            raise MemoryError(f"no room for a context of {cells} tokens")
        weights.apply_adapter(self.handle)
        self.weights = weights
        self.cells = cells
        self.sequences = sequences
        self.batch_tokens = batch_tokens
        self._memory = llama.llama_get_memory(self.handle)
        self._batch = llama.llama_batch_init(batch_tokens, 0, 1)
        self._stop_flag = ctypes.create_string_buffer(2)
        # With rotary positions, as in most models, llama.cpp can shift cached keys.
        self.can_shift = bool(llama.llama_memory_can_shift(self._memory))
        # llama.cpp calls this before every graph operation, a thousand times a token. A Python
        # callback would take the GIL each time (8% of the decode rate of a small model), so the C
        # library's strlen reads a one-character flag.
        self._abort = ctypes.cast(ctypes.CDLL(None).strlen, llama.ggml_abort_callback)
        flag = ctypes.cast(self._stop_flag, ctypes.c_void_p)
        llama.llama_set_abort_callback(self.handle, self._abort, flag)

    def evaluate(self, tokens: Sequence[BatchToken]) -> Outcome:
        """Evaluate one batch. Raises DecodeError."""
        batch = self._batch
        batch.n_tokens = len(tokens)
        for index, item in enumerate(tokens):
            batch.token[index] = item.token
            batch.pos[index] = item.position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = item.sequence
            batch.logits[index] = item.wants_logits
        status = llama.llama_decode(self.handle, batch)
        if status < 0:
            raise DecodeError(f"llama.cpp returned {status}")
        return _OUTCOMES.get(status, Outcome.INTERRUPTED)

    def interrupt(self) -> None:
        """Abort the evaluation, from any thread.

        Ignored for models without rollback: it would corrupt their states.
        """
        if self.weights.can_roll_back:
            self._stop_flag[0] = b"x"

    def clear_interrupt(self) -> None:
        """Clear `interrupt` before the next evaluation."""
        self._stop_flag[0] = b"\0"

    def cut(self, sequence: int, length: int) -> bool:
        """Keep the first `length` tokens of a sequence.

        Returns False if it had to be emptied instead.
        """
        # llama.cpp takes -1 for the beginning or the end of a sequence.
        if llama.llama_memory_seq_rm(self._memory, sequence, length, -1):
            return True
        llama.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        return length == 0  # Then it was to be emptied.

    def fork(self, source: int, target: int, length: int = -1) -> None:
        """Let the empty sequence `target` share the first `length` tokens of `source`; -1: all.

        If the cache is not unified, all of them are copied.
        """
        llama.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def remove(self, sequence: int, start: int, length: int) -> None:
        """Remove `length` tokens of a sequence at `start`.

        Later tokens shift to their place and keep their state.
        """
        end = start + length
        llama.llama_memory_seq_rm(self._memory, sequence, start, end)
        # -1: to the end of the sequence
        llama.llama_memory_seq_add(self._memory, sequence, end, -1, -length)

    def can_cut_at(self, sequence: int, length: int) -> bool:
        """Whether a sequence can be cut to this length: cells that left a window are freed."""
        if not self.weights.window:
            return True
        first = llama.llama_memory_seq_pos_min(self._memory, sequence)
        return bool(first <= max(0, length - self.weights.window))

    def clear(self) -> None:
        llama.llama_memory_clear(self._memory, False)

    def state(self, sequence: int) -> npt.NDArray[np.uint8]:
        """Copy the KV state of a sequence, for `restore`."""
        size = int(llama.llama_state_seq_get_size(self.handle, sequence))
        state = np.empty(size, dtype=np.uint8)
        llama.llama_state_seq_get_data(self.handle, _bytes(state), size, sequence)
        return state

    def restore(self, sequence: int, state: npt.NDArray[np.uint8]) -> bool:
        """Restore a state into an empty sequence.

        Returns False, leaving it empty, if that fails.
        """
        bytes_read = llama.llama_state_seq_set_data(
            self.handle, _bytes(state), len(state), sequence
        )
        if bytes_read:
            return True
        self.cut(sequence, 0)
        return False

    def close(self) -> None:
        llama.llama_batch_free(self._batch)
        llama.llama_free(self.handle)


def _bytes(state: npt.NDArray[np.uint8]) -> "ctypes._Pointer[ctypes.c_uint8]":
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
