"""Every source makes examples in the program's prompts, and the model learns from them.

torch is imported by the slow tests alone: it takes a second.
"""

from typing import TYPE_CHECKING

import pytest

from research.training.data import SOURCES, sources
from research.training.pages import SHARED
from research.training.questions import training_files

if TYPE_CHECKING:
    from research.training.model import Starter
    from research.training.packing import Packer

pytestmark = pytest.mark.skipif(
    not (SHARED / "fairytaleqa").exists(), reason="needs ../shared/data/fairytaleqa"
)
every_source = pytest.mark.parametrize(
    "name",
    [
        name if name == "alone" else pytest.param(name, marks=pytest.mark.slow)
        for name in SOURCES
    ],
)


@pytest.fixture(autouse=True)
def _one_novel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "research.training.data.training_files", lambda: training_files()[:1]
    )


@pytest.fixture(scope="module")
def starter() -> "Starter":
    pytest.importorskip("torch")
    from research.training.model import Starter
    from research.training.packing import starter_path

    return Starter(starter_path())


@pytest.fixture(scope="module")
def packer() -> "Packer":
    pytest.importorskip("torch")
    from research.training.packing import Packer

    return Packer()


@every_source
def test_every_source_makes_examples(name: str) -> None:
    made = [
        example
        for number in range(2)
        for example in sources(1, [name])[name].examples(number)
    ]
    assert made
    assert all(example.prompt and example.reply for example in made)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_a_step_over_every_source_has_a_gradient(
    name: str, starter: "Starter", packer: "Packer"
) -> None:
    import torch
    from torch.nn import functional

    from research.training.model import Adapter, LoraShape

    adapter = Adapter(
        LoraShape(first_layer=starter.layers - 1), starter.sizes, starter.layers
    )
    pack = packer.pack(sources(1, [name])[name].examples(0)[:2])
    loss = functional.cross_entropy(starter.forward(pack, adapter), pack.targets)
    gradients = torch.autograd.grad(loss, list(adapter.b.parameters()))
    assert loss.isfinite()
    assert all(gradient.isfinite().all() and gradient.any() for gradient in gradients)


@pytest.mark.slow
def test_bfloat16_gives_nearly_the_gradient_of_float32(
    starter: "Starter", packer: "Packer"
) -> None:
    import torch
    from torch.nn import functional

    from research.training.model import Adapter, LoraShape, Starter
    from research.training.packing import starter_path

    pack = packer.pack(sources(1, ["tales"])["tales"].examples(0)[:2])
    gradients = []
    for model in (starter, Starter(starter_path(), torch.bfloat16)):
        adapter = Adapter(
            LoraShape(first_layer=model.layers - 1), model.sizes, model.layers
        )
        loss = functional.cross_entropy(model.forward(pack, adapter), pack.targets)
        gradients.append(
            torch.cat(
                [
                    gradient.flatten()
                    for gradient in torch.autograd.grad(
                        loss, list(adapter.b.parameters())
                    )
                ]
            )
        )
    assert functional.cosine_similarity(*gradients, dim=0) > 0.99
