"""The legal tokens of a choice are those that a grammar of its options would allow."""

from pathlib import Path

import numpy as np
import pytest

from gistread.engine.llama.worker import sampling
from gistread.engine.llama.worker.chat_template import ChatTemplate
from gistread.engine.llama.worker.sampling import OptionSampler
from gistread.engine.llama.worker.weights import Weights
from tests.benchmarks.lowlevel import load
from tests.tiny_gguf import metadata, write_gguf
from tests.vocabularies import trained, write_vocabulary

OPTIONS = (
    [*(str(number) for number in range(1, 766)), "STOP"],
    [*(f"Page {number}" for number in range(1, 40)), "STOP"],
    ["search more", "search", "previous page", "enough"],
    ["né", "né é", "naïve", "中文", "中", "🙂", "🙃"],
    ["only"],
    ["'s", "'LL", "the", "The", "12", "3.14"],
)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    path = write_vocabulary(
        tmp_path_factory.mktemp("vocabulary") / "v.gguf", "gpt-2", trained(3)
    )
    return Weights(load(path, vocabulary_only=True), ChatTemplate(""))


@pytest.mark.process
@pytest.mark.parametrize("options", OPTIONS[:4], ids=lambda options: options[0])
def test_an_option_is_chosen_whatever_the_model_prefers(
    weights: Weights, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = np.random.default_rng(1)
    monkeypatch.setattr(
        sampling,
        "_logits",
        lambda *_: source.normal(size=weights.vocabulary).astype(np.float32),
    )
    for _ in range(20):
        sampler = OptionSampler(weights, options)
        while sampler.chosen is None:
            sampler.sample(None, 0)  # type: ignore[arg-type]
        assert 0 <= sampler.chosen < len(options)
        assert 0.0 < sampler.probability <= 1.0


@pytest.mark.process
def test_a_model_without_the_letters_of_an_option_says_so(tmp_path: Path) -> None:
    tokens = ["a", "b", "<|end|>"]
    path = write_gguf(
        tmp_path / "few.gguf",
        metadata(
            tokenizer__ggml__tokens=tokens,
            tokenizer__ggml__token_type=[1, 1, 3],
            tokenizer__ggml__merges=["a b"],
            tokenizer__ggml__eos_token_id=2,
            tokenizer__ggml__bos_token_id=2,
        ),
        {},
    )
    few = Weights(load(path, vocabulary_only=True), ChatTemplate(""))
    with pytest.raises(ValueError, match="no tokens that spell"):
        OptionSampler(few, ["xyz", "uvw"]).sample(None, 0)  # type: ignore[arg-type]
