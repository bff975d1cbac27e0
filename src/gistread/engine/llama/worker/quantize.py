"""The process that writes a requantized copy of a model, with its adapter merged in.

Arguments: model, target, quantization (`Q8_0`), path for unquantized weights, and an adapter, if
any.
"""

import ctypes
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import llama_cpp as llama
import numpy as np
import numpy.typing as npt

from gistread.engine.llama.gguf import Contents, Tensor, read_contents
from gistread.engine.llama.machine import physical_cores

_A, _B = ".lora_a", ".lora_b"
# Unquantized tensor types
_DTYPES: dict[int, np.dtype[Any]] = {0: np.dtype("<f4"), 1: np.dtype("<f2")}


def quantize(source: Path, target: Path, quantization: str) -> None:
    """Raises OSError if llama.cpp fails."""
    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama, f"LLAMA_FTYPE_MOSTLY_{quantization}")
    parameters.nthread = physical_cores()
    parameters.allow_requantize = True
    status = llama.llama_model_quantize(
        os.fsencode(source), os.fsencode(target), ctypes.byref(parameters)
    )
    if status:
        raise OSError(f"{source.name} cannot be quantized")


def merge(model: Path, adapter: Path) -> None:
    """Add a LoRA adapter to the weights of `model`, in place, on all cores.

    Raises ValueError if it does not match.
    """
    weights = read_contents(model)
    matrices = read_contents(adapter)
    alpha = float(matrices.pairs.get("adapter.lora.alpha", 0))

    def add(layer: str) -> None:
        """Write W + α/r · B A for the weights W of a layer, r being the rank."""
        target = weights.tensors[layer]
        a = _matrix(adapter, matrices, matrices.tensors[f"{layer}{_A}"])
        b = _matrix(adapter, matrices, matrices.tensors[f"{layer}{_B}"])
        rank = len(a)
        scale = alpha / rank if alpha else 1.0
        # In place: each array of this size is fetched from the system and given back.
        merged = b @ a
        merged *= scale
        merged += _matrix(model, weights, target)
        with model.open("r+b") as file:
            file.seek(weights.data_start + target.offset)
            file.write(merged.astype(_DTYPES[target.kind]).data)

    layers = set()
    for name in matrices.tensors:
        layer = name.removesuffix(_A).removesuffix(_B)
        if layer not in weights.tensors or not name.startswith("blk."):
            raise ValueError(f"{name} matches no layer of the model")
        layers.add(layer)
    # NumPy lets other threads run while it multiplies and converts.
    with ThreadPoolExecutor(physical_cores()) as threads:
        for _ in threads.map(add, sorted(layers)):
            pass


def _matrix(path: Path, contents: Contents, tensor: Tensor) -> npt.NDArray[np.float32]:
    """Read one tensor of a file. Raises ValueError if it is quantized."""
    dtype = _DTYPES.get(tensor.kind)
    if dtype is None:
        raise ValueError(f"{path.name} has quantized matrices")
    start = contents.data_start + tensor.offset
    numbers = np.fromfile(path, dtype, math.prod(tensor.shape), offset=start)
    return numbers.astype(np.float32).reshape(tensor.shape)


if __name__ == "__main__":
    source, target, quantization, unquantized, *adapter = sys.argv[1:]
    if adapter:
        # Matrices can be added to unquantized weights only.
        quantize(Path(source), Path(unquantized), "F16")
        merge(Path(unquantized), Path(adapter[0]))
        source = unquantized
    quantize(Path(source), Path(target), quantization)
