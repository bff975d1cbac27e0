"""Rooms keep to the rules of readable code, and each rule finds what it is for."""

import hashlib
import sys
import textwrap
from pathlib import Path

import pytest

from tests.readability.rooms import allowed, count, rooms, rule_names
from tests.readability.rules import find

ROOMS = rooms()
RULES_FILES = [Path(__file__).with_name(name) for name in ("rules.py", "rooms.py")]


def counts_of(room: str, cache: pytest.Cache) -> dict[str, int]:
    """By rule, the findings of a room: counted again only if a file or the rules changed."""
    texts = [path.read_bytes() for path in (*ROOMS[room], *RULES_FILES)]
    digest = hashlib.sha256(b"\0".join([sys.version.encode(), *texts])).hexdigest()
    key = f"readability/{room.replace('/', '.')}"
    known = cache.get(key, {})
    if known.get("digest") != digest:
        known = {"digest": digest, "counts": count(ROOMS[room])}
        cache.set(key, known)
    return known["counts"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_no_more_findings_than_allowed(
    room: str, pytestconfig: pytest.Config
) -> None:
    limits = allowed().get(room, {})
    counts = counts_of(room, pytestconfig.cache)
    over = {
        rule: number for rule, number in counts.items() if number > limits.get(rule, 0)
    }
    assert not over, f"python -m tests.readability {room} lists them"


def test_only_rooms_and_rules_that_exist_have_allowances() -> None:
    assert allowed().keys() <= ROOMS.keys()
    assert {rule for limits in allowed().values() for rule in limits} <= set(
        rule_names()
    )


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("nested-conditional", "a = 1 if b else 2 if c else 3"),
        ("nested-conditional", "a = 1 if b else f(2 if c else 3)"),
        ("conditional-over-lines", "a = (\n    1\n    if b\n    else 2\n)"),
        ("condition-over-lines", "if a and b(\n    c\n):\n    pass"),
        ("condition-over-lines", "while a and (\n    b or c\n):\n    pass"),
        ("early-walrus", "a = m[1] if (m := match(b)) else ''"),
        ("early-walrus", "a = [m[1] for b in c if (m := match(b))]"),
        ("early-walrus", "a = {b: m[1] for b in c if (m := match(b))}"),
        ("values-side-by-side", "a, b, c = 1, 2, 3"),
        (
            "shared-iterator",
            "def f(a):\n    b = iter(a)\n    return [c for c in b if c], [d for d in b]",
        ),
        ("bare-number", "def f(a):\n    return a > 0.7"),
        ("bare-number", "def f(a):\n    return a * -0.03"),
        ("bare-number", "def f(a):\n    return len(a) >= 12"),
        ("bare-number", "def f(a):\n    return max(64, a)"),
        ("bare-number", "def f(a):\n    return a + 5"),
        ("wrapped-summary", 'def f():\n    """A sentence\n    over two lines."""'),
        ("wrapped-summary", '"""A sentence\nover two lines."""'),
        ("long-tuple", "def f() -> tuple[int, int, str]: ..."),
        ("long-tuple", "def f(a: list[tuple[int, int, str]]) -> None: ..."),
        ("vague-name", "for one in a:\n    pass"),
        ("vague-name", "def f(told):\n    pass"),
        ("vague-name", "a._found = 1"),
        ("complex-function", "def f(a):\n    return " + " or ".join(["a"] * 13)),
    ],
)
def test_a_rule_finds_what_it_forbids(rule: str, source: str) -> None:
    assert [finding.rule for finding in find(source)] == [rule]
    assert find(source, leave_out=[rule]) == []


def test_readable_code_has_no_findings() -> None:
    source = '''
        """What the module is for.

        A second paragraph may
        have two lines.
        """

        THRESHOLD = 0.7

        def f(a: tuple[int, ...], point: tuple[int, int]) -> int:
            x, y = point
            u, v, w = a
            match = find(a)
            first = match[1] if match else ""
            seconds = 60 * len(a) + 100 * x - 1
            if (size := 1 << 20) > THRESHOLD:
                return size
            return [b for b in a if (c := g(b)) and c > 1]
    '''
    assert find(textwrap.dedent(source)) == []


def test_every_python_file_is_in_a_room() -> None:
    root = Path(__file__).parents[2]
    folders = ("src", "research", "tests")
    files = {path for folder in folders for path in (root / folder).rglob("*.py")}
    assert {path for paths in ROOMS.values() for path in paths} == files
