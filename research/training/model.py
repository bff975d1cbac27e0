"""The starter in PyTorch on the CPU: weights as its GGUF holds them, LoRA, packed attention."""

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from gguf import GGUFReader, dequantize

from research.training.packing import Packed

LINEAR = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
MALLOPT_TRIM_THRESHOLD, MALLOPT_MMAP_THRESHOLD = -1, -3
LARGEST_ON_HEAP = 32 * 2**20 - 1  # glibc takes no larger one
LARGEST_TRIM = 2**31 - 1  # The largest int: never


def reuse_memory() -> None:
    """Keep glibc from returning large buffers to the system after each operation.

    Page faults cost time.
    """
    libc = ctypes.CDLL("libc.so.6")
    libc.mallopt(MALLOPT_MMAP_THRESHOLD, LARGEST_ON_HEAP)
    libc.mallopt(MALLOPT_TRIM_THRESHOLD, LARGEST_TRIM)


def fast_dtype() -> torch.dtype:
    """bfloat16 where the processor multiplies it in hardware, else float32.

    In hardware it is 3 to 8 times as fast as float32.
    """
    return torch.bfloat16 if torch.cpu._is_avx512_bf16_supported() else torch.float32


@dataclass(frozen=True, slots=True)
class LoraShape:
    """Which layers an adapter changes, and how."""

    first_layer: int = 0
    rank: int = 16
    alpha: float = 32.0


class Adapter(torch.nn.Module):
    """Low-rank updates of every linear layer from `shape.first_layer` on: W + B·A·alpha/rank."""

    def __init__(
        self,
        shape: LoraShape,
        sizes: dict[str, tuple[int, int]],
        layers: int,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.shape = shape
        random = torch.Generator().manual_seed(seed)
        self.a, self.b = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        for layer in range(shape.first_layer, layers):
            for name in LINEAR:
                out, into = sizes[name]
                a = torch.randn(shape.rank, into, generator=random) / math.sqrt(into)
                self.a[f"{layer}_{name}"] = torch.nn.Parameter(a)
                self.b[f"{layer}_{name}"] = torch.nn.Parameter(
                    torch.zeros(out, shape.rank)
                )

    def tensors(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each matrix under its name in a GGUF adapter."""
        for suffix, matrices in (("lora_a", self.a), ("lora_b", self.b)):
            for key, matrix in matrices.items():
                layer, _, name = key.partition("_")
                yield f"blk.{layer}.{name}.weight.{suffix}", matrix.detach().numpy()

    def load(self, path: Path) -> None:
        """Take the matrices of a GGUF adapter of the same rank.

        Layers that it leaves alone begin with no change.
        """
        stored = {
            tensor.name: np.asarray(tensor.data, np.float32)
            for tensor in GGUFReader(path).tensors
        }
        with torch.no_grad():
            for name, matrix in self.tensors():
                if name in stored:
                    torch.from_numpy(matrix).copy_(
                        torch.from_numpy(stored[name].reshape(matrix.shape))
                    )


class Starter:
    """The frozen model.

    `forward` gives the logits at the positions of a pack whose next token is a target. Weights and
    activations have the type `dtype`; the adapter, rotations and logits are float32.
    """

    def __init__(self, path: Path, dtype: torch.dtype = torch.float32) -> None:
        self.dtype = dtype
        reader = GGUFReader(path)
        meta = {
            key: field.contents()
            for key, field in reader.fields.items()
            if key.startswith("llama.")
        }
        self.heads, self.kv_heads = (
            meta["llama.attention.head_count"],
            meta["llama.attention.head_count_kv"],
        )
        self.width, self.layers = (
            meta["llama.embedding_length"],
            meta["llama.block_count"],
        )
        self.head = self.width // self.heads
        self.epsilon = meta["llama.attention.layer_norm_rms_epsilon"]
        self.weights = {
            tensor.name.removesuffix(".weight"): torch.from_numpy(
                np.array(
                    dequantize(tensor.data, tensor.tensor_type), np.float32
                ).reshape(tuple(int(size) for size in reversed(tensor.shape)))
            ).to(dtype)
            for tensor in reader.tensors
        }
        self.sizes = {
            name: tuple(self.weights[f"blk.0.{name}"].shape) for name in LINEAR
        }
        self.frequencies = 1.0 / meta["llama.rope.freq_base"] ** (
            torch.arange(0, self.head, 2) / self.head
        )

    def forward(self, pack: Packed, adapter: Adapter | None) -> torch.Tensor:
        """Logits of shape (targets, vocabulary)."""
        x = self.weights["token_embd"][pack.tokens]
        angle = pack.positions[:, None].float() * self.frequencies[None]
        turn = torch.polar(torch.ones_like(angle), angle)[:, None]
        first = self.layers if adapter is None else adapter.shape.first_layer
        with torch.no_grad():
            for layer in range(first):
                x = self._layer(x, layer, pack, turn, None)
        for layer in range(first, self.layers):
            x = self._layer(x, layer, pack, turn, adapter)
        return (
            self._norm(x[pack.predicting], "output_norm") @ self.weights["token_embd"].T
        ).float()

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.rms_norm(x, (self.width,), self.weights[name], self.epsilon)

    def _linear(
        self,
        x: torch.Tensor,
        layer: int,
        names: tuple[str, ...],
        adapter: Adapter | None,
    ) -> list[torch.Tensor]:
        """Several linear layers of the same input."""
        outputs = [F.linear(x, self.weights[f"blk.{layer}.{name}"]) for name in names]
        if adapter is None:
            return outputs
        scale = adapter.shape.alpha / adapter.shape.rank
        keys = [f"{layer}_{name}" for name in names]
        down = (torch.cat([adapter.a[key] for key in keys]) * scale).to(self.dtype)
        low = F.linear(x, down).split(adapter.shape.rank, -1)
        return [
            torch.addmm(output, part, adapter.b[key].T.to(self.dtype))
            for output, part, key in zip(outputs, low, keys, strict=True)
        ]

    def _layer(
        self,
        x: torch.Tensor,
        layer: int,
        pack: Packed,
        turn: torch.Tensor,
        adapter: Adapter | None,
    ) -> torch.Tensor:
        normed = self._norm(x, f"blk.{layer}.attn_norm")
        q, k, v = self._linear(normed, layer, ("attn_q", "attn_k", "attn_v"), adapter)
        q, k = (
            _rotate(q.view(len(x), self.heads, self.head), turn),
            _rotate(k.view(len(x), self.kv_heads, self.head), turn),
        )
        seen = self._attend(q, k, v.view(len(x), self.kv_heads, self.head), pack)
        x = x + self._linear(seen, layer, ("attn_output",), adapter)[0]
        normed = self._norm(x, f"blk.{layer}.ffn_norm")
        gate, up = self._linear(normed, layer, ("ffn_gate", "ffn_up"), adapter)
        return x + self._linear(F.silu(gate) * up, layer, ("ffn_down",), adapter)[0]

    def _attend(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pack: Packed
    ) -> torch.Tensor:
        """The trunk attends to itself; each branch to its part of the trunk and to itself."""
        trunk, group = pack.trunk, self.heads // self.kv_heads
        k_trunk, v_trunk = k[:trunk].transpose(0, 1), v[:trunk].transpose(0, 1)
        seen = F.scaled_dot_product_attention(
            q[None, :trunk].transpose(1, 2),
            k_trunk.repeat_interleave(group, 0)[None],
            v_trunk.repeat_interleave(group, 0)[None],
            is_causal=True,
        )[0].transpose(0, 1)
        count, longest = pack.places.shape
        if not count:
            return seen.reshape(trunk, self.width)
        # The queries that share a key head stand side by side, so that keys need not be repeated.
        q_branch = (
            q[pack.places]
            .view(count, longest, self.kv_heads, group, self.head)
            .permute(0, 2, 3, 1, 4)
        )
        branches = F.scaled_dot_product_attention(
            q_branch.reshape(count, self.kv_heads, group * longest, self.head),
            torch.cat(
                [k_trunk.expand(count, -1, -1, -1), k[pack.places].transpose(1, 2)], 2
            ),
            torch.cat(
                [v_trunk.expand(count, -1, -1, -1), v[pack.places].transpose(1, 2)], 2
            ),
            attn_mask=pack.mask.repeat(1, 1, group, 1).to(self.dtype),
        )
        branches = branches.view(
            count, self.kv_heads, group, longest, self.head
        ).permute(0, 3, 1, 2, 4)
        own = branches.reshape(count * longest, self.width)[pack.filled]
        return torch.cat([seen.reshape(trunk, self.width), own])


def _rotate(x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """RoPE over neighbouring pairs: llama.cpp's GGUF holds the rows of Q and K in that order."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)
