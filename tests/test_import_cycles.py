"""No circle of imports, whether at run time, for types or inside functions.

No pile of base classes.
"""

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

import gistread

PACKAGE = Path(gistread.__file__).parent


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Every module of gistread, by its whole name."""
    trees = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("gistread", *path.relative_to(PACKAGE).with_suffix("").parts)
        trees[".".join(parts).removesuffix(".__init__")] = ast.parse(
            path.read_text("utf-8")
        )
    return trees


def imports_of(tree: ast.Module, known: Mapping[str, object]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Strongly connected components of more than one node (Tarjan, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                components.append(set(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return components


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = modules()
    graph = {
        name: set(imports_of(tree, known)) - {name} for name, tree in known.items()
    }
    assert not circles(graph)


def test_no_class_has_more_than_two_bases_of_our_own() -> None:
    known = modules()
    ours = {
        node.name
        for tree in known.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    for name, tree in known.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases = [
                    base.id
                    for base in node.bases
                    if isinstance(base, ast.Name) and base.id in ours
                ]
                assert len(bases) <= 2, f"{name}.{node.name}"
