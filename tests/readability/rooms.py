"""The rooms of this repository, and the findings of each."""

import ast
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.readability.rules import RULES, Finding, complexity, find

ROOT = Path(__file__).parents[2]
_ALLOWED = Path(__file__).with_name("allowed.toml")
_HEADER = """\
# Findings that each room still has. `python -m tests.readability --lower` writes lower counts;
# none is ever raised, and a room that is not listed has none.
"""
_TESTS = "tests"
# The numbers of a test are what it expects.
_NOT_FOR_TESTS = ("bare-number",)
_LIMIT_COLUMNS = 100
_SIMPLE = (ast.Name, ast.Constant, ast.Attribute)
_MOST_COMPLEXITY = 12


@dataclass(frozen=True, slots=True)
class Measures:
    """How densely a room is written. Blank lines do not count."""

    lines: int
    characters_a_line: float
    expressions_a_line: float  # But names, constants and attributes
    conditionals_a_thousand: float
    complex_functions: int


def rooms() -> dict[str, list[Path]]:
    """The Python files of each room: a package or module of gistread, the research, the tests."""
    files: dict[str, list[Path]] = {}
    for top in ("src/gistread", "research", _TESTS):
        for path in sorted((ROOT / top).rglob("*.py")):
            files.setdefault(_room_of(path), []).append(path)
    return files


def _room_of(path: Path) -> str:
    """`src/gistread/book`, `src/gistread/units.py`, `research`, `tests/cli`"""
    parts = path.relative_to(ROOT).parts
    depth = {"src": 3, "research": 1, _TESTS: 2}[parts[0]]
    is_test_module = parts[0] == _TESTS and len(parts) == depth
    return _TESTS if is_test_module else "/".join(parts[:depth])


def findings_of(path: Path) -> list[Finding]:
    is_test = path.relative_to(ROOT).parts[0] == _TESTS
    return find(path.read_text("utf-8"), leave_out=_NOT_FOR_TESTS if is_test else ())


def count(paths: list[Path]) -> Counter[str]:
    """How often each rule is broken in these files."""
    return Counter(finding.rule for path in paths for finding in findings_of(path))


def allowed() -> dict[str, dict[str, int]]:
    """By room and rule, how many findings there may be."""
    return tomllib.loads(_ALLOWED.read_text("utf-8"))


def lower() -> None:
    """Write the present counts where they are lower than those allowed."""
    before = allowed()
    lines = [_HEADER]
    for room, paths in rooms().items():
        counts = count(paths)
        limits = before.get(room, {})
        kept = {rule: min(counts[rule], limits.get(rule, 0)) for rule in rule_names()}
        left = {rule: number for rule, number in kept.items() if number}
        if left:
            lines += [
                f'["{room}"]',
                *(f"{rule} = {number}" for rule, number in left.items()),
                "",
            ]
    _ALLOWED.write_text("\n".join(lines), "utf-8")


def rule_names() -> list[str]:
    return list(dict.fromkeys(rule.name for rule in RULES))


def measure(paths: list[Path]) -> Measures:
    texts = [path.read_text("utf-8") for path in paths]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    expressions = [
        n for n in nodes if isinstance(n, ast.expr) and not isinstance(n, _SIMPLE)
    ]
    conditionals = sum(isinstance(node, ast.IfExp) for node in nodes)
    functions = [
        n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    line_count = max(1, len(lines))
    return Measures(
        lines=len(lines),
        characters_a_line=sum(map(len, lines)) / line_count,
        expressions_a_line=len(expressions) / line_count,
        conditionals_a_thousand=1000 * conditionals / line_count,
        complex_functions=sum(
            complexity(function) > _MOST_COMPLEXITY for function in functions
        ),
    )
