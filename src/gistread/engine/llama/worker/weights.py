"""The weights of a model with its vocabulary and chat template.

Immutable, so usable from any thread.
"""

import ctypes
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import llama_cpp as llama

from gistread.engine.llama.worker.chat_template import ChatTemplate
from gistread.engine.protocol import Message
from gistread.errors import EngineError

_PIECE_BYTES = 256
_LEAST_MARKER = 3  # Characters
_ADDED_TOKENS = 8  # At most, such as one for a space before the text
_NOTHING = re.compile(r"(?!)")  # Matches no text


def _is_marker(text: str) -> bool:
    """Whether a special token's text marks something, as `<|end|>` does."""
    is_text = text.isspace() or text.isalnum()
    return len(text) >= _LEAST_MARKER and not is_text


def _with_a_space(control: re.Match[str]) -> str:
    """A control token, made plain text by a space after its first character: `< |end|>`."""
    text = control[0]
    return f"{text[0]} {text[1:]}"


def _load_adapter(model: llama.llama_model_p, path: str) -> Any:
    """Load a LoRA adapter, owned by the model and freed with it; None without a path.

    Raises EngineError if it does not fit the model.
    """
    if not path:
        return None
    adapter = llama.llama_adapter_lora_init(model, os.fsencode(path))
    if not adapter:
        problem = f"The adapter {Path(path).name} does not fit this model."
        raise EngineError(problem, "Give one that was made for it.")
    return adapter


class Weights:
    """Loaded weights, shared by their contexts (`context.py`)."""

    def __init__(
        self, handle: llama.llama_model_p, template: ChatTemplate, adapter: str = ""
    ) -> None:
        """`adapter`: path of a LoRA adapter, or empty.

        Raises TemplateError, EngineError for an adapter that does not fit the model.
        """
        self.handle = handle
        self._adapter = _load_adapter(handle, adapter)
        self.vocab = llama.llama_model_get_vocab(handle)
        self.vocabulary: int = llama.llama_vocab_n_tokens(self.vocab)  # Its size
        is_recurrent = llama.llama_model_is_recurrent(handle)
        is_hybrid = llama.llama_model_is_hybrid(handle)
        # Whether a sequence can be cut at any position; a recurrent state cannot.
        self.can_roll_back = not is_recurrent and not is_hybrid
        # Sliding window in tokens; 0: none
        self.window: int = llama.llama_model_n_swa(handle)
        # Whether a saved sequence can be cut at any position; a sliding window is saved without
        # earlier tokens.
        self.can_restart_anywhere = self.can_roll_back and not self.window
        self._adds_bos = bool(llama.llama_vocab_get_add_bos(self.vocab))
        self._template = template
        bos = self._token_text(llama.llama_vocab_bos(self.vocab))
        eos = self._token_text(llama.llama_vocab_eos(self.vocab))
        template.begin(bos, eos)
        self._control = self._control_pattern()

    def _control_pattern(self) -> re.Pattern[str]:
        """A pattern for the control tokens that a text may spell out, the longest first."""
        special = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        texts = {
            self._token_text(token)
            for token in range(self.vocabulary)
            if llama.llama_vocab_get_attr(self.vocab, token) & special
        }
        # A user-defined token may be ordinary text, such as a run of spaces.
        markers = sorted(filter(_is_marker, texts), key=len, reverse=True)
        if not markers:
            return _NOTHING
        return re.compile("|".join(map(re.escape, markers)))

    def apply_adapter(self, context: llama.llama_context_p) -> None:
        if not self._adapter:
            return
        adapters = (llama.llama_adapter_lora_p_ctypes * 1)(self._adapter)
        scales = (ctypes.c_float * 1)(1.0)
        llama.llama_set_adapters_lora(context, adapters, 1, scales)

    def tokens_of(self, text: str, *, special: bool = False) -> list[int]:
        """Tokenize text. `special`: parse control tokens spelled out in it."""
        data = text.encode("utf-8", "replace")
        # A token has at least a byte, but for a few that some vocabularies add.
        capacity = len(data) + _ADDED_TOKENS
        buffer = (llama.llama_token * capacity)()
        adds_bos = False  # `prompt_tokens` adds it.
        count = llama.llama_tokenize(
            self.vocab, data, len(data), buffer, capacity, adds_bos, special
        )
        if count < 0:
            raise ValueError(f"a text of {len(data)} bytes cannot be tokenized")
        return buffer[:count]

    def prompt_tokens(self, prompt: Sequence[Message]) -> list[int]:
        """Tokenize a conversation with the chat template.

        Control tokens in messages stay text: a book cannot speak as the system or the model.
        """
        harmless = [
            Message(message.role, self._control.sub(_with_a_space, message.content))
            for message in prompt
        ]
        text = self._template.render(harmless)
        tokens = self.tokens_of(text, special=True)
        bos = llama.llama_vocab_bos(self.vocab)
        if self._adds_bos and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def piece(self, token: int) -> bytes:
        """The bytes that a token adds to a text; none for a control token."""
        stripped_spaces = 0
        special = False  # No text for control tokens
        size = _PIECE_BYTES
        buffer = ctypes.create_string_buffer(size)
        length = llama.llama_token_to_piece(
            self.vocab, token, buffer, size, stripped_spaces, special
        )
        if length < 0:  # The buffer is too small: so many bytes are needed.
            size = -length
            buffer = ctypes.create_string_buffer(size)
            length = llama.llama_token_to_piece(
                self.vocab, token, buffer, size, stripped_spaces, special
            )
        return buffer.raw[:length]

    @cached_property
    def spelled(self) -> Mapping[bytes, Sequence[int]]:
        """Tokens by their bytes. The first call takes a third of a second for 150,000 tokens."""
        tokens: dict[bytes, list[int]] = {}
        for token in range(self.vocabulary):
            tokens.setdefault(self.piece(token), []).append(token)
        tokens.pop(b"", None)
        return tokens

    @cached_property
    def longest_piece(self) -> int:
        return max(map(len, self.spelled), default=0)

    @cached_property
    def turn_ends(self) -> Sequence[int]:
        return [token for token in range(self.vocabulary) if self.ends_turn(token)]

    def ends_turn(self, token: int) -> bool:
        return bool(llama.llama_vocab_is_eog(self.vocab, token))

    def _token_text(self, token: int) -> str:
        """The text by which a vocabulary names a token; empty for a token that it lacks."""
        if token < 0:
            return ""
        text: bytes = llama.llama_vocab_get_text(self.vocab, token) or b""
        return text.decode("utf-8", "replace")
