"""Merges a LoRA adapter into a model's weights: W + B·A·alpha/rank, in a GGUF file with weights in F16."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import read_tensors, read_values
from gistread.engine.llama.gguf_contents import Tensor

_ALPHA = "adapter.lora.alpha"
_A, _B = ".lora_a", ".lora_b"
_DTYPES: dict[int, np.dtype[Any]] = {0: np.dtype("<f4"), 1: np.dtype("<f2")}  # Unquantized tensor types


def merge(model: Path, adapter: Path) -> None:
    """Add the adapter to the weights of `model`, in place. Raises ValueError if it does not match."""
    (start, weights), (adapter_start, matrices) = read_tensors(model), read_tensors(adapter)
    alpha = float(read_values(adapter, (_ALPHA,)).get(_ALPHA, 0))  # type: ignore[arg-type]
    for name in sorted(matrices):
        target = weights.get(name.removesuffix(_A).removesuffix(_B))
        if target is None or not name.startswith("blk."):
            raise ValueError(f"{name} matches no layer of the model")
        if name.endswith(_A):
            low = _read(adapter, adapter_start, matrices[name])
            up = _read(adapter, adapter_start, matrices[f"{name.removesuffix(_A)}{_B}"])
            change = (up @ low) * (alpha / len(low) if alpha else 1.0)
            before = _read(model, start, target)
            with model.open("r+b") as file:
                file.seek(start + target.offset)
                file.write((before + change).astype(_DTYPES[target.kind]).tobytes())


def _read(path: Path, start: int, tensor: Tensor) -> npt.NDArray[np.float32]:
    if tensor.kind not in _DTYPES:
        raise ValueError(f"{path.name} has quantized matrices")
    found = np.fromfile(path, _DTYPES[tensor.kind], math.prod(tensor.shape), offset=start + tensor.offset)
    return found.astype(np.float32).reshape(tensor.shape)
