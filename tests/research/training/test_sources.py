"""Every source makes examples in the program's prompts, and the model learns from them."""

import pytest

from research.training.pages import SHARED

pytest.importorskip("torch")
if not (SHARED / "fairytaleqa").exists():
    pytest.skip("the training data is not here", allow_module_level=True)

import torch
from torch.nn import functional

from research.training.data import SOURCES, sources
from research.training.model import Adapter, LoraShape, Starter
from research.training.packing import Packer, starter_path
from research.training.questions import training_files

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
def starter() -> Starter:
    return Starter(starter_path())


@pytest.fixture(scope="module")
def packer() -> Packer:
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
    name: str, starter: Starter, packer: Packer
) -> None:
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
    starter: Starter, packer: Packer
) -> None:
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
