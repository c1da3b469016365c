"""What an expression in the hole of a skeleton may name: read from the skeleton, nothing is executed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from operators.syntax import parse
from problems.problem import Skeleton

_SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_FILLING = "0"


@dataclass(frozen=True)
class Hole:
    """All tuples are sorted.

    Attributes:
        names: arguments and variables that are there; not those that the skeleton only takes parts of, or
            only takes parts with.
        tables: what it takes parts of by names alone, and by how many: ``distances[here, there]`` is
            ``("distances", 2)``.
        indices: the names it takes them by.
        functions: its own functions, and how many arguments they need.
        modules: what NumPy and ``math`` are called, by their own names.
    """

    names: tuple[str, ...]
    tables: tuple[tuple[str, int], ...]
    indices: tuple[str, ...]
    functions: tuple[tuple[str, int], ...]
    modules: tuple[tuple[str, str], ...]


def hole_of(skeleton: Skeleton) -> Hole:
    """Read a skeleton.

    Raises:
        SyntaxError, ValueError, RecursionError, OverflowError: it is no Python with a number in its hole.
    """
    tree = parse(f"{skeleton.prefix} {_FILLING}{skeleton.suffix}")
    lines = skeleton.prefix.split("\n")
    at = len(lines), len(lines[-1].encode()) + 1
    seen = [node for node in _visible(tree, at) if _begin(node) < at]
    loads = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and _begin(node) < at]
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and _begin(node) < at]
    apart = {id(node) for part in parts for node in [part.value, *ast.walk(part.slice)]}
    used = {node.id for node in loads if isinstance(node.ctx, ast.Load)}
    whole = {node.id for node in loads if isinstance(node.ctx, ast.Load) and id(node) not in apart}
    inner = {id(part.value) for part in parts}
    by_names = [
        (part.value.id, names)
        for part in parts
        if isinstance(part.value, ast.Name) and id(part) not in inner and (names := _names(part.slice))
    ]
    bound = set(_bound(seen, at))
    return Hole(
        names=tuple(sorted(bound - (used - whole))),
        tables=tuple(sorted({(name, len(names)) for name, names in by_names if name in bound})),
        indices=tuple(sorted(bound & {name for _, names in by_names for name in names})),
        functions=tuple(sorted(_functions(seen, at))),
        modules=tuple(sorted(_modules(seen))),
    )


def _begin(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _holds(node: ast.AST, at: tuple[int, int]) -> bool:
    """Whether the hole is inside a node."""
    end = getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)
    return _begin(node) <= at < end


def _visible(node: ast.AST, at: tuple[int, int]) -> Iterator[ast.AST]:
    """Nodes whose names the hole sees: not what is inside of other functions and comprehensions."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES) or _holds(child, at):
            yield from _visible(child, at)


def _bound(seen: list[ast.AST], at: tuple[int, int]) -> Iterator[str]:
    """Arguments, and variables that have a value before the statement with the hole."""
    late = {
        id(node)
        for statement in seen
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _holds(statement, at)
        for node in ast.walk(statement)
    }
    for node in seen:
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in late:
            yield node.id


def _names(index: ast.expr) -> list[str]:
    """The names of an index that is made of names alone."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else []


def _functions(seen: list[ast.AST], at: tuple[int, int]) -> Iterator[tuple[str, int]]:
    for node in seen:
        if isinstance(node, ast.FunctionDef) and not _holds(node, at):
            needed = len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
            if needed:
                yield node.name, needed


def _modules(seen: list[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in seen:
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name in ("numpy", "math"):
                yield alias.name, alias.asname or alias.name
