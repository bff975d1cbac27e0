"""Finds what makes code hard to read in a syntax tree: one function per rule."""

import ast
import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

_Check = Callable[[Any], Iterator[ast.AST]]

_CONDITIONALS = (ast.IfExp,)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DOCUMENTED = (*_FUNCTIONS, ast.ClassDef, ast.Module)
_NAMES = (ast.Name, ast.Attribute, ast.arg, *_FUNCTIONS)
_BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.AsyncFor,
    ast.ExceptHandler,
    ast.IfExp,
    ast.Assert,
    ast.comprehension,
    ast.match_case,
)

_MOST_VALUES = 2  # Assigned side by side
_MOST_ELEMENTS = 2  # Of a tuple that a function takes or returns
_MOST_COMPLEXITY = 12
_ITERATORS = ("iter", "map", "filter", "zip", "enumerate", "reversed")
_CLAMPS = ("min", "max")
_VAGUE = frozenset(("one", "told", "found", "said", "asked", "wanted"))

# Nothing, a first one, a pair
_PLAIN = frozenset((0, 1, 2))
# Between units: percent, metric prefixes, parts of a day and week, bits and bytes
_UNITS = frozenset(
    (10, 100, 1000, 10**6, 10**9, 60, 3600, 24, 7, 8, 1024, 2**20, 2**30)
)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    line: int
    rule: str


def find(source: str, leave_out: Collection[str] = ()) -> list[Finding]:
    """All findings in a module but those of rules left out, by line. Raises SyntaxError.

    >>> find("width = 80 if wide else 40 if narrow else 60")
    [Finding(line=1, rule='nested-conditional')]
    """
    return sorted(
        Finding(getattr(place, "lineno", 1), rule.name)
        for node in _walk(ast.parse(source))
        for rule in _RULES_BY_NODE.get(type(node), ())
        if rule.name not in leave_out
        for place in rule.check(node)
    )


def complexity(function: ast.AST) -> int:
    """Paths through a function. Stricter than McCabe's: boolean operators count as branches."""
    branches = 0
    for node in _nodes_of(function):
        if isinstance(node, _BRANCHES):
            branches += 1
        elif isinstance(node, ast.BoolOp):
            branches += len(node.values) - 1
    return 1 + branches


def _nested_conditional(conditional: ast.IfExp) -> Iterator[ast.AST]:
    """`a if x else b if y else c`"""
    if any(isinstance(inner, ast.IfExp) for inner in _within(conditional)):
        yield conditional


def _conditional_over_lines(conditional: ast.IfExp) -> Iterator[ast.AST]:
    if conditional.lineno != conditional.end_lineno:
        yield conditional


def _condition_over_lines(statement: ast.If | ast.While) -> Iterator[ast.AST]:
    """`if a and b(` with the rest below; `and` and `or` may begin lines in parentheses."""
    test = statement.test
    if test.lineno == test.end_lineno:
        return
    values = test.values if isinstance(test, ast.BoolOp) else [test]
    is_in_parentheses = test.lineno > statement.lineno
    is_listed = all(value.lineno == value.end_lineno for value in values)
    if not (is_in_parentheses and is_listed):
        yield statement


def _early_walrus_in_conditional(conditional: ast.IfExp) -> Iterator[ast.AST]:
    """`m[1] if (m := match(text)) else ""`"""
    if _bound(conditional.test) & _names(conditional.body):
        yield conditional


def _early_walrus_in_comprehension(comprehension: Any) -> Iterator[ast.AST]:
    """`[m[1] for text in texts if (m := match(text))]`"""
    is_dict = isinstance(comprehension, ast.DictComp)
    results = (
        [comprehension.key, comprehension.value] if is_dict else [comprehension.elt]
    )
    used = set().union(*map(_names, results))
    conditions = [
        test for generator in comprehension.generators for test in generator.ifs
    ]
    if any(_bound(condition) & used for condition in conditions):
        yield comprehension


def _values_side_by_side(assignment: ast.Assign) -> Iterator[ast.AST]:
    """`a, b, c = 1, 2, 3`, but not `a, b, c = point`, which unpacks one thing."""
    if isinstance(assignment.value, ast.Tuple):
        for target in assignment.targets:
            if isinstance(target, ast.Tuple) and len(target.elts) > _MOST_VALUES:
                yield target


def _shared_iterator(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """An iterator that several comprehensions use up between them."""
    iterators = {
        node.targets[0].id: node
        for node in _nodes_of(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and _is_iterator(node.value)
    }
    if iterators:
        comprehensions = [
            n for n in _nodes_of(function) if isinstance(n, _COMPREHENSIONS)
        ]
        uses = Counter(name for inner in comprehensions for name in _names(inner))
        yield from (node for name, node in iterators.items() if uses[name] > 1)


def _bare_number(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """A threshold, weight or limit without a name: `score > 0.7`, `1.15 * score`, `max(n, 64)`.

    Numbers that explain themselves may stay: none, one and two, and factors between units.
    """
    for parent, children in _own_nodes(function):
        for child in children:
            number = _number(child)
            if (
                number is not None
                and abs(number) not in _PLAIN
                and _is_in_rule(number, parent)
            ):
                yield child


def _is_in_rule(number: float, parent: ast.AST) -> bool:
    match parent:
        case ast.UnaryOp():  # Its own parent decides
            return False
        case ast.BinOp(op=ast.LShift()):  # 1 << 20
            return False
        case ast.BinOp():
            return number not in _UNITS
        case ast.Compare() | ast.Call(func=ast.Name(id="min" | "max")):
            return True
        case _:
            return isinstance(number, float)


def _wrapped_summary(documented: ast.AST) -> Iterator[ast.AST]:
    """A docstring whose first sentence goes on in its second line."""
    docstring = ast.get_docstring(documented) or ""  # type: ignore[arg-type]
    summary = docstring.partition("\n\n")[0]
    if "\n" in summary:
        yield documented


def _long_tuple(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """A tuple of three or more that a function takes or returns; a dataclass names its parts."""
    arguments = [
        *function.args.posonlyargs,
        *function.args.args,
        *function.args.kwonlyargs,
    ]
    annotations = [function.returns, *(argument.annotation for argument in arguments)]
    for annotation in annotations:
        if annotation is not None and any(map(_is_long_tuple, _walk(annotation))):
            yield annotation


def _is_long_tuple(annotation: ast.AST) -> bool:
    match annotation:
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=elements)):
            return len(elements) > _MOST_ELEMENTS
    return False


def _vague_name(node: ast.AST) -> Iterator[ast.AST]:
    """A name that names nothing, such as `one` for a sentence or `found` for a match."""
    match node:
        case (
            ast.Name(id=name, ctx=ast.Store())
            | ast.Attribute(attr=name, ctx=ast.Store())
        ):
            is_vague = name.strip("_") in _VAGUE
        case (
            ast.arg(arg=name)
            | ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
        ):
            is_vague = name.strip("_") in _VAGUE
        case _:  # A name that is read has been given elsewhere
            is_vague = False
    if is_vague:
        yield node


def _complex_function(function: ast.FunctionDef) -> Iterator[ast.AST]:
    if complexity(function) > _MOST_COMPLEXITY:
        yield function


def _children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node. No rule asks whether a name is read or written there."""
    children: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field)
        if value.__class__ is list:
            children += [item for item in value if isinstance(item, ast.AST)]
        elif field != "ctx" and isinstance(value, ast.AST):
            children.append(value)
    return children


def _walk(node: ast.AST) -> list[ast.AST]:
    """The node and all that is inside it. Twice as fast as `ast.walk`."""
    nodes = [node]
    for parent in nodes:  # Grows
        nodes += _children(parent)
    return nodes


@functools.lru_cache(maxsize=1)
def _nodes_of(function: ast.AST) -> list[ast.AST]:
    """What is inside a function. Several rules ask for it in turn."""
    return _walk(function)


def _within(node: ast.AST) -> list[ast.AST]:
    """What is inside a node, without the node itself."""
    return _walk(node)[1:]


def _own_nodes(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """The nodes of a function's body with their children, but none of functions inside it."""
    rest: list[ast.AST] = [*function.body]
    while rest:
        node = rest.pop()
        children = _children(node)
        yield node, children
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            rest += children


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in _walk(node) if isinstance(inner, ast.Name)}


def _bound(condition: ast.AST) -> set[str]:
    """Names that `:=` binds in a condition."""
    return {
        inner.target.id
        for inner in _walk(condition)
        if isinstance(inner, ast.NamedExpr)
    }


def _is_iterator(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in _ITERATORS
    return isinstance(value, ast.GeneratorExp)


def _number(node: ast.AST) -> float | None:
    if isinstance(node, ast.UnaryOp):
        return _number(node.operand)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    return None


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    nodes: tuple[type[ast.AST], ...]
    check: _Check


RULES = (
    Rule("nested-conditional", _CONDITIONALS, _nested_conditional),
    Rule("conditional-over-lines", _CONDITIONALS, _conditional_over_lines),
    Rule("condition-over-lines", (ast.If, ast.While), _condition_over_lines),
    Rule("early-walrus", _CONDITIONALS, _early_walrus_in_conditional),
    Rule("early-walrus", _COMPREHENSIONS, _early_walrus_in_comprehension),
    Rule("values-side-by-side", (ast.Assign,), _values_side_by_side),
    Rule("shared-iterator", _FUNCTIONS, _shared_iterator),
    Rule("bare-number", _FUNCTIONS, _bare_number),
    Rule("wrapped-summary", _DOCUMENTED, _wrapped_summary),
    Rule("long-tuple", _FUNCTIONS, _long_tuple),
    Rule("vague-name", _NAMES, _vague_name),
    Rule("complex-function", _FUNCTIONS, _complex_function),
)

_RULES_BY_NODE: defaultdict[type[ast.AST], list[Rule]] = defaultdict(list)
for _rule in RULES:
    for _node in _rule.nodes:
        _RULES_BY_NODE[_node].append(_rule)
