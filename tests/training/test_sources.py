"""Every source makes examples in the program's prompts."""

import pytest
from training.pages import SHARED

pytest.importorskip("torch")
if not (SHARED / "fairytaleqa").exists():
    pytest.skip("the training data is not here", allow_module_level=True)

from training.data import SOURCES, sources


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_makes_examples(name: str) -> None:
    made = [one for number in range(2) for one in sources(1, [name])[name].examples(number)]
    assert made
    assert all(one.prompt and one.reply for one in made)
