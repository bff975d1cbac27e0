"""Merges a LoRA adapter into a model's weights: W + B·A·alpha/rank, in a GGUF file with weights in F16."""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import read_values
from gistread.engine.llama.gguf_contents import DEFAULT_ALIGNMENT, MAGIC
from gistread.engine.llama.gguf_types import ARRAY, SCALARS, STRING

_ALPHA = "adapter.lora.alpha"
_A, _B = ".lora_a", ".lora_b"
_DTYPES: dict[int, np.dtype[Any]] = {0: np.dtype("<f4"), 1: np.dtype("<f2")}
"""Unquantized tensor types."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    shape: tuple[int, ...]
    """Rows first."""
    kind: int
    start: int
    """Offset in the file."""


def merge(model: Path, adapter: Path) -> None:
    """Add the adapter to the weights of `model`, in place. Raises ValueError if it does not match."""
    weights, matrices = _tensors(model), _tensors(adapter)
    alpha = float(read_values(adapter, (_ALPHA,)).get(_ALPHA, 0))  # type: ignore[arg-type]
    for name in sorted(matrices):
        target = weights.get(name.removesuffix(_A).removesuffix(_B))
        if target is None or not name.startswith("blk."):
            raise ValueError(f"{name} matches no layer of the model")
        if name.endswith(_A):
            low = _read(adapter, matrices[name])
            up = _read(adapter, matrices[f"{name.removesuffix(_A)}{_B}"])
            change = (up @ low) * (alpha / len(low) if alpha else 1.0)
            before = _read(model, target)
            with model.open("r+b") as file:
                file.seek(target.start)
                file.write((before + change).astype(_DTYPES[target.kind]).tobytes())


def _read(path: Path, tensor: _Tensor) -> npt.NDArray[np.float32]:
    if tensor.kind not in _DTYPES:
        raise ValueError(f"{path.name} has quantized matrices")
    found = np.fromfile(path, _DTYPES[tensor.kind], math.prod(tensor.shape), offset=tensor.start)
    return found.astype(np.float32).reshape(tensor.shape)


def _tensors(path: Path) -> dict[str, _Tensor]:
    """The tensors of a GGUF file, by name."""
    with path.open("rb") as file:
        file.seek(len(MAGIC) + 4)
        count, pairs = _unpack(file, "QQ")
        alignment = DEFAULT_ALIGNMENT
        for _ in range(pairs):
            key = _text(file)
            value = _value(file, *_unpack(file, "I"))
            if key == b"general.alignment":
                alignment = value
        found: dict[str, tuple[tuple[int, ...], int, int]] = {}
        for _ in range(count):
            name = _text(file).decode()
            shape = _unpack(file, f"{_unpack(file, 'I')[0]}Q")
            kind, offset = _unpack(file, "IQ")
            found[name] = shape[::-1], kind, offset
        start = -(-file.tell() // alignment) * alignment
    return {name: _Tensor(shape, kind, start + offset) for name, (shape, kind, offset) in found.items()}


def _value(file: BinaryIO, kind: int) -> int:
    """Read a value; only numbers are returned."""
    if kind == STRING:
        _text(file)
    elif kind == ARRAY:
        kind, length = _unpack(file, "IQ")
        if kind == STRING:
            for _ in range(length):
                _text(file)
        else:
            file.seek(length * struct.calcsize("<" + SCALARS[kind]), 1)
    else:
        return int(_unpack(file, SCALARS[kind])[0])
    return 0


def _text(file: BinaryIO) -> bytes:
    return file.read(_unpack(file, "Q")[0])


def _unpack(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))
