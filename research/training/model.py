"""The starter in PyTorch on the CPU: weights as its GGUF holds them, LoRA, packed attention."""

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from gguf import GGUFReader, ReaderTensor, dequantize

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
        self.a = torch.nn.ParameterDict()
        self.b = torch.nn.ParameterDict()
        for layer in range(shape.first_layer, layers):
            for name in LINEAR:
                outputs, inputs = sizes[name]
                a = torch.randn(shape.rank, inputs, generator=random)
                b = torch.zeros(outputs, shape.rank)
                key = f"{layer}_{name}"
                self.a[key] = torch.nn.Parameter(a / math.sqrt(inputs))
                self.b[key] = torch.nn.Parameter(b)

    def tensors(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each matrix under its name in a GGUF adapter."""
        for suffix, matrices in (("lora_a", self.a), ("lora_b", self.b)):
            for key, matrix in matrices.items():
                layer, _, name = key.partition("_")
                yield f"blk.{layer}.{name}.weight.{suffix}", matrix.detach().numpy()

    def load(self, path: Path) -> None:
        """Copy the matrices of a GGUF adapter of the same rank.

        Layers that it does not change stay as they are.
        """
        stored = {
            tensor.name: np.asarray(tensor.data, np.float32)
            for tensor in GGUFReader(path).tensors
        }
        with torch.no_grad():
            for name, matrix in self.tensors():
                if name in stored:
                    saved = torch.from_numpy(stored[name].reshape(matrix.shape))
                    torch.from_numpy(matrix).copy_(saved)


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
        self.heads = meta["llama.attention.head_count"]
        self.kv_heads = meta["llama.attention.head_count_kv"]
        self.width = meta["llama.embedding_length"]
        self.layers = meta["llama.block_count"]
        self.head = self.width // self.heads  # Width of a head
        self.epsilon = meta["llama.attention.layer_norm_rms_epsilon"]
        self.weights = {
            tensor.name.removesuffix(".weight"): _dequantized(tensor).to(dtype)
            for tensor in reader.tensors
        }
        self.sizes = {
            name: tuple(self.weights[f"blk.0.{name}"].shape) for name in LINEAR
        }
        exponents = torch.arange(0, self.head, 2) / self.head
        self.frequencies = 1.0 / meta["llama.rope.freq_base"] ** exponents

    def forward(self, pack: Packed, adapter: Adapter | None) -> torch.Tensor:
        """Logits of shape (targets, vocabulary)."""
        embeddings = self.weights["token_embd"]
        x = embeddings[pack.tokens]
        angle = pack.positions[:, None].float() * self.frequencies[None]
        turn = torch.polar(torch.ones_like(angle), angle)[:, None]
        first_adapted = self.layers if adapter is None else adapter.shape.first_layer
        with torch.no_grad():
            for layer in range(first_adapted):
                x = self._layer(x, layer, pack, turn, None)
        for layer in range(first_adapted, self.layers):
            x = self._layer(x, layer, pack, turn, adapter)
        normed = self._norm(x[pack.predicting], "output_norm")
        return (normed @ embeddings.T).float()

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
        # The matrices A are multiplied together, B one by one.
        a = torch.cat([adapter.a[key] for key in keys]) * scale
        low = F.linear(x, a.to(self.dtype)).split(adapter.shape.rank, -1)
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
        q = _rotate(q.view(len(x), self.heads, self.head), turn)
        k = _rotate(k.view(len(x), self.kv_heads, self.head), turn)
        v = v.view(len(x), self.kv_heads, self.head)
        attended = self._attend(q, k, v, pack)
        [output] = self._linear(attended, layer, ("attn_output",), adapter)
        x = x + output
        normed = self._norm(x, f"blk.{layer}.ffn_norm")
        gate, up = self._linear(normed, layer, ("ffn_gate", "ffn_up"), adapter)
        [down] = self._linear(F.silu(gate) * up, layer, ("ffn_down",), adapter)
        return x + down

    def _attend(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pack: Packed
    ) -> torch.Tensor:
        """The trunk attends to itself; each branch to its part of the trunk and to itself."""
        trunk = pack.trunk
        of_trunk = self._attend_in_trunk(q[:trunk], k[:trunk], v[:trunk])
        if not len(pack.places):
            return of_trunk
        of_branches = self._attend_in_branches(q, k, v, pack)
        return torch.cat([of_trunk, of_branches])

    def _attend_in_trunk(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> torch.Tensor:
        group = self.heads // self.kv_heads  # Heads that share a key head
        attended = F.scaled_dot_product_attention(
            q[None].transpose(1, 2),
            k.transpose(0, 1).repeat_interleave(group, 0)[None],
            v.transpose(0, 1).repeat_interleave(group, 0)[None],
            is_causal=True,
        )
        return attended[0].transpose(0, 1).reshape(len(q), self.width)

    def _attend_in_branches(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pack: Packed
    ) -> torch.Tensor:
        group = self.heads // self.kv_heads  # Heads that share a key head
        count, longest = pack.places.shape
        k_trunk = k[: pack.trunk].transpose(0, 1)
        v_trunk = v[: pack.trunk].transpose(0, 1)
        # The queries that share a key head are side by side, so that keys need not be repeated.
        q_branch = (
            q[pack.places]
            .view(count, longest, self.kv_heads, group, self.head)
            .permute(0, 2, 3, 1, 4)
            .reshape(count, self.kv_heads, group * longest, self.head)
        )
        k_branch = k[pack.places].transpose(1, 2)
        v_branch = v[pack.places].transpose(1, 2)
        attended = F.scaled_dot_product_attention(
            q_branch,
            torch.cat([k_trunk.expand(count, -1, -1, -1), k_branch], 2),
            torch.cat([v_trunk.expand(count, -1, -1, -1), v_branch], 2),
            attn_mask=pack.mask.repeat(1, 1, group, 1).to(self.dtype),
        )
        of_branches = (
            attended.view(count, self.kv_heads, group, longest, self.head)
            .permute(0, 3, 1, 2, 4)
            .reshape(count * longest, self.width)
        )
        return of_branches[pack.filled]


def _dequantized(tensor: ReaderTensor) -> torch.Tensor:
    """A tensor of a GGUF file as float32, rows first."""
    numbers = np.array(dequantize(tensor.data, tensor.tensor_type), np.float32)
    shape = tuple(int(size) for size in reversed(tensor.shape))
    return torch.from_numpy(numbers.reshape(shape))


def _rotate(x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """RoPE over neighbouring pairs: llama.cpp's GGUF holds the rows of Q and K in that order."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)
