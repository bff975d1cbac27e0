"""Writes a checkpoint as a GGUF adapter for llama.cpp.

python -m research.training.export CHECKPOINT ADAPTER.gguf
"""

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch

from research.training.model import Adapter, LoraShape, Starter
from research.training.packing import starter_path


def restored(path: Path, model: Starter) -> Adapter:
    """The adapter in a checkpoint of `research.training.train`."""
    state = torch.load(path, weights_only=True)
    adapter = Adapter(LoraShape(*state["shape"]), model.sizes, model.layers)
    with torch.no_grad():
        pairs = zip(adapter.parameters(), state["adapter"], strict=True)
        for parameter, saved in pairs:
            parameter.copy_(saved)
    return adapter


def export(adapter: Adapter, path: Path) -> None:
    """Write the matrices as F16 under the names that llama.cpp expects.

    llama.cpp permutes the rows of Q and K when it converts a model; training follows the rows as
    they lie in the GGUF, so nothing is permuted here.
    """
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", adapter.shape.alpha)
    writer.add_name("SmolLM2-135M-Instruct for gistread")
    writer.add_license("apache-2.0")
    for name, matrix in sorted(adapter.tensors()):
        writer.add_tensor(name, matrix.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("adapter", type=Path)
    arguments = parser.parse_args()
    model = Starter(starter_path())
    export(restored(arguments.checkpoint, model), arguments.adapter)
    megabytes = arguments.adapter.stat().st_size / 1e6
    print(f"{arguments.adapter}: {megabytes:.1f} MB")


if __name__ == "__main__":
    main()
