"""How questions are put to a model, by its size and by the result of its check.

Only this module reads the result of the check. Readers use the properties of a class.
"""

from dataclasses import dataclass, replace

from gistread.engine.protocol import EngineInfo
from gistread.memory.check_results import CheckResult


@dataclass(frozen=True, slots=True)
class ModelClass:
    """What models of one size can do. The figures come from `docs/methods.md`."""

    name: str
    passage_tokens: int  # Usual tokens of passages in one prompt
    # Most passages asked one by one: further ones bring more wrong answers
    passages: int
    most_tokens: int  # Most tokens of text in one prompt: more misleads a small model
    cites: bool  # It is shown numbered passages, and asked for the numbers
    chooses: bool  # It can name one of several options by its letter, and say why
    # It is shown the whole conversation before a question, not only the last exchange
    remembers: bool
    # Its answers are shown as they are; of other models, useless ones are replaced by quotations
    is_believed: bool
    abstains: bool = True  # It is offered "The book does not say."
    # It can tell whether an answer says "the book does not tell"
    judges_absence: bool = False
    # It notices when a question is about somebody whom the book lacks
    sees_absence: bool = False
    # Over its own gists of a whole book, it opens the pages that answer
    looks_up: bool = False


_ANY = 10**9
LARGE = ModelClass(
    "large",
    passage_tokens=4096,
    passages=5,
    most_tokens=_ANY,
    cites=True,
    chooses=True,
    remembers=True,
    is_believed=True,
    judges_absence=True,
    sees_absence=True,
    looks_up=True,
)
SMALL = ModelClass(
    "small",
    passage_tokens=700,
    passages=3,
    most_tokens=4096,
    cites=False,
    chooses=True,
    remembers=False,
    is_believed=True,
)
BASIC = ModelClass(
    "basic",
    passage_tokens=600,
    passages=5,
    most_tokens=600,
    cites=False,
    chooses=False,
    remembers=False,
    is_believed=False,
)


def class_of(info: EngineInfo, check: CheckResult | None) -> ModelClass:
    """The class of a loaded model. `check`: None if nobody has checked it, as on a server.

    >>> class_of(EngineInfo("qwen3-1.7b", "", 8192, "CPU", parameters=1_700_000_000), None).name
    'small'
    """
    # A failed check counts more than the size.
    if check is not None and not check.answers:
        return replace(BASIC, abstains=check.abstains)
    if not info.is_small:
        return LARGE
    if check is None:
        return SMALL
    return replace(SMALL, abstains=check.abstains)
