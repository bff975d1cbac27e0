"""Trains the adapter.

    python -m research.training.train RUN_FOLDER

Run the command again to resume from the checkpoint. The rate is constant after a short warm-up, so
a run can be ended at any checkpoint: `--decay STEPS` lowers the rate to zero over so many more
steps and ends there. Each worker process trains on packs of its own with one thread: on a busy
machine two threads of one process would wait for each other at every operation.
"""

import argparse
import json
import random
import signal
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F  # noqa: N812

from research.training.data import Source, sources
from research.training.examples import Example
from research.training.model import (
    Adapter,
    LoraShape,
    Starter,
    fast_dtype,
    reuse_memory,
)
from research.training.packing import Packer, starter_path

BLOCK = 8
"""Steps whose packs are drawn together, so that the packs of a step have about the same length."""
CHARACTERS_AN_EXAMPLE = 300
"""The cost of an example beside that of its text."""
RATE = 5e-4
"""Of the A matrices, by default."""
BETAS = (0.9, 0.98)
"""Of AdamW."""
TINY = 1e-6
"""Avoids a division by a norm of zero."""
MEAN_STEPS = 20
"""Steps over which the log has the mean loss."""


class Stream:
    """The packs of each step, from sources mixed by weight.

    The same seed and mix give the same stream.
    """

    def __init__(
        self,
        by_name: dict[str, Source],
        mix: dict[str, float],
        seed: int,
        drawn: dict[str, int],
    ) -> None:
        self._sources = by_name
        self._mix = mix
        self._seed = seed
        self.drawn = dict(drawn)
        """Packs taken from each source before the current block."""

    def block(self, number: int, packs: int) -> list[list[list[Example]]]:
        """The examples of `BLOCK` steps with `packs` packs each."""
        chance = random.Random(f"{self._seed} block {number}")
        names = list(self._mix)
        weights = list(self._mix.values())
        drawn_packs: list[list[Example]] = []
        for name in chance.choices(names, weights, k=BLOCK * packs):
            pack_number = self.drawn.get(name, 0)
            self.drawn[name] = pack_number + 1
            drawn_packs.append(self._sources[name].examples(pack_number))
        drawn_packs.sort(key=cost)
        starts = range(0, len(drawn_packs), packs)
        steps = [drawn_packs[start : start + packs] for start in starts]
        chance.shuffle(steps)
        return steps


def cost(examples: list[Example]) -> int:
    """About how long a pack takes to train on, in characters."""
    longest = max(len(example.prompt) for example in examples)
    return longest + CHARACTERS_AN_EXAMPLE * len(examples)


@dataclass(frozen=True, slots=True)
class PackResult:
    """Sums over one pack; its gradient is in shared memory."""

    loss: float
    weight: float
    examples: int
    tokens: int


def work(
    model: Starter,
    adapter: Adapter,
    gradients: torch.Tensor,
    tasks: mp.Queue,
    done: mp.Queue,
) -> None:
    """Compute the gradient of one pack after the other. Runs in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    reuse_memory()
    packer = Packer()
    parameters = list(adapter.parameters())
    for slot, examples in iter(tasks.get, None):
        pack = packer.pack(examples)
        logits = model.forward(pack, adapter)
        losses = F.cross_entropy(logits, pack.targets, reduction="none") * pack.weights
        loss = losses.sum()
        gradient_parts = torch.autograd.grad(loss, parameters)
        gradients[slot] = torch.cat([gradient.flatten() for gradient in gradient_parts])
        result = PackResult(
            loss=float(loss.detach()),
            weight=float(pack.weights.sum()),
            examples=pack.examples,
            tokens=len(pack.tokens),
        )
        done.put(result)


def rate_at(step: int, warmup: int, decay_from: int | None, decay: int) -> float:
    """The share of the full rate at a step.

    Warm-up, constant, and a linear decay once it has begun.
    """
    share = min(1.0, (step + 1) / warmup)
    if decay_from is None:
        return share
    return share * max(0.0, 1 - (step - decay_from + 1) / (decay + 1))


class Run:
    """A training run and its folder: adapter, optimiser and counts, stored in `checkpoint.pt`."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.folder: Path = arguments.folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.arguments = arguments
        self.model = Starter(starter_path(), fast_dtype())
        shape = LoraShape(arguments.first_layer, arguments.rank, arguments.alpha)
        self.adapter = Adapter(
            shape, self.model.sizes, self.model.layers, arguments.seed
        )
        if arguments.from_adapter:
            self.adapter.load(arguments.from_adapter)
        self.adapter.share_memory()
        a_matrices = {
            "params": list(self.adapter.a.parameters()),
            "rate": arguments.rate,
        }
        b_matrices = {
            "params": list(self.adapter.b.parameters()),
            "rate": arguments.rate * arguments.b_factor,
        }
        self.optimiser = torch.optim.AdamW(
            [a_matrices, b_matrices], betas=BETAS, weight_decay=0.0
        )
        self.step = 0
        self.seen = 0  # Examples trained on
        self.drawn: dict[str, int] = {}  # See `Stream`
        self.history: list[float] = []  # Losses of the steps
        self.decay_from: int | None = None
        path = self.folder / "checkpoint.pt"
        if path.exists():
            self._restore(torch.load(path, weights_only=True))
        if arguments.decay and self.decay_from is None:
            self.decay_from = self.step

    def _restore(self, state: dict) -> None:
        """Take the state of a checkpoint, but the rates of the command line."""
        pairs = zip(self.adapter.parameters(), state["adapter"], strict=True)
        with torch.no_grad():
            for parameter, saved in pairs:
                parameter.copy_(saved)
        rates = [group["rate"] for group in self.optimiser.param_groups]
        self.optimiser.load_state_dict(state["optimiser"])
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["rate"] = rate
        self.step = state["step"]
        self.seen = state["seen"]
        self.drawn = state["drawn"]
        self.decay_from = state["decay_from"]

    def save(self, name: str = "checkpoint.pt") -> None:
        """Write the state as it is now, atomically."""
        shape = self.adapter.shape
        state = {
            "adapter": [parameter.detach() for parameter in self.adapter.parameters()],
            "optimiser": self.optimiser.state_dict(),
            "shape": [shape.first_layer, shape.rank, shape.alpha],
            "step": self.step,
            "seen": self.seen,
            "drawn": self.drawn,
            "decay_from": self.decay_from,
        }
        torch.save(state, self.folder / "new.pt")
        (self.folder / "new.pt").replace(self.folder / name)

    def train(self) -> None:
        """Train until the end of the run, or a signal to stop (SIGTERM, Ctrl-C).

        The current step is finished and saved.
        """
        arguments = self.arguments
        stopping: list[bool] = []
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: stopping.append(True))
        size = sum(parameter.numel() for parameter in self.adapter.parameters())
        gradients = torch.zeros(arguments.packs, size).share_memory_()
        tasks, done = self._start_workers(gradients)
        if self.decay_from is not None:
            last_step = self.decay_from + arguments.decay
        else:
            last_step = arguments.steps
        for steps in self._blocks():
            for examples in steps:
                if stopping or self.step >= last_step:
                    self.save()
                    return
                self._step(examples, gradients, tasks, done)
            self.drawn = self._stream.drawn
            self.save()
            if self.step % arguments.keep_every == 0:
                self.save(f"step_{self.step}.pt")

    def _start_workers(self, gradients: torch.Tensor) -> tuple[mp.Queue, mp.Queue]:
        """Start the workers; returns their queues of tasks and of results."""
        context = mp.get_context("fork")
        tasks = context.Queue()
        done = context.Queue()
        worker_arguments = (self.model, self.adapter, gradients, tasks, done)
        for _ in range(self.arguments.workers):
            context.Process(target=work, args=worker_arguments, daemon=True).start()
        return tasks, done

    def _blocks(self) -> Iterator[list[list[list[Example]]]]:
        """The remaining steps, block by block, beginning with the rest of an interrupted block."""
        seed = self.arguments.seed
        mix = json.loads(self.arguments.mix)
        self._stream = Stream(sources(seed, mix), mix, seed, self.drawn)
        while True:
            number, steps_done = divmod(self.step, BLOCK)
            block = self._stream.block(number, self.arguments.packs)
            yield block[steps_done:]

    def _step(
        self,
        examples: list[list[Example]],
        gradients: torch.Tensor,
        tasks: mp.Queue,
        done: mp.Queue,
    ) -> None:
        """Train on the packs of one step, a pack in each slot of `gradients`, and log it."""
        arguments = self.arguments
        began_s = time.monotonic()
        for slot, pack in enumerate(examples):
            tasks.put((slot, pack))
        results: list[PackResult] = [done.get() for _ in examples]
        weight = sum(result.weight for result in results)
        gradient = gradients[: len(examples)].sum(0) / weight
        norm = float(gradient.norm())
        gradient *= min(1.0, 1.0 / (norm + TINY))
        start = 0
        for parameter in self.adapter.parameters():
            end = start + parameter.numel()
            parameter.grad = gradient[start:end].view_as(parameter)
            start = end
        share = rate_at(self.step, arguments.warmup, self.decay_from, arguments.decay)
        for group in self.optimiser.param_groups:
            group["lr"] = group["rate"] * share
        self.optimiser.step()
        self.step += 1
        self.seen += sum(result.examples for result in results)
        loss = sum(result.loss for result in results) / weight
        seconds = time.monotonic() - began_s
        tokens = sum(result.tokens for result in results)
        self.history.append(loss)
        mean = statistics.fmean(self.history[-MEAN_STEPS:])
        with (self.folder / "log.txt").open("a") as log:
            log.write(
                f"{time.strftime('%H:%M:%S')} step {self.step} seen {self.seen} "
                f"loss {loss:.3f} mean {mean:.3f} norm {norm:.2f} rate {share:.2f} "
                f"{tokens / seconds:.0f} tokens/s\n"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument(
        "--decay",
        type=int,
        default=0,
        help="lower the rate to nothing over so many steps, and end",
    )
    parser.add_argument(
        "--mix", default='{"tales": 1}', help="weight of each source, as JSON"
    )
    parser.add_argument(
        "--from-adapter", type=Path, help="begin with the matrices of this GGUF adapter"
    )
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument(
        "--b-factor",
        type=float,
        default=2.0,
        help="rate of the B matrices over that of the A ones",
    )
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--packs", type=int, default=2, help="packs a step")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--first-layer", type=int, default=0)
    parser.add_argument("--rank", type=int, default=LoraShape().rank)
    parser.add_argument("--alpha", type=float, default=LoraShape().alpha)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--keep-every",
        type=int,
        default=80,
        help="steps after which a checkpoint is kept for good",
    )
    torch.set_num_threads(1)
    Run(parser.parse_args()).train()


if __name__ == "__main__":
    main()
