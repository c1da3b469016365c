"""Candidates whose function and loop are machine code: faster, and only where nothing else changes.

A candidate compiles when Numba can type it, and what it does is the same compiled: its decisions on a few
instances are those of the interpreted form. Anything else raises, and whoever asked evaluates the
candidate interpreted, from the start, in a fresh process.

Not everything in which the two forms may differ shows on a few instances. Refused outright are random
numbers, ``try``, state kept between calls (``global``, ``nonlocal``, classes, changeable defaults) and
modules other than numpy and math. Scalars that Python would refuse to turn into integers or to
raise to a power are refused when they come up, and so are indices out of range and divisions by zero.
What is left: integers wrap at 64 bits, a variable read before it is set has no defined value, ``argsort``
may order equal elements in another way, and sums may differ in the last bit.
"""

import ast
import inspect
import signal
import types as python_types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

from evaluators import candidate, frames, fresh
from evaluators.outcome import Status
from evaluators.task import COMPILE_SECONDS, Task

CHECKED = 4
"""Instances on which both forms have to decide alike."""
_MODULES = {"numpy", "math", "typing", "__future__"}
_REFUSED = (
    *(ast.Try, ast.TryStar, ast.Global, ast.Nonlocal, ast.ClassDef, ast.AsyncFunctionDef, ast.With),
    *(ast.Yield, ast.YieldFrom, ast.Await),
)
_INTEGRAL = {"floor", "ceil", "trunc"}
_DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}


class NotCompilable(Exception):
    """The candidate has to stay interpreted. The message says why."""


def evaluate(task: Task, source: str, instances: np.ndarray) -> bytes:
    """The frame of ``source`` on ``instances`` with compiled code: decisions, or why there are none.

    Once it is compiled and checked the deadline for that is lifted. When that passes, the process is
    killed by ``SIGPROF``, also in the middle of the compiler.
    """
    signal.setitimer(signal.ITIMER_PROF, COMPILE_SECONDS)
    try:
        return frames.encode_decisions(decisions(task, source, instances))
    except BaseException as error:  # of any kind: the interpreted form tells what it is worth
        return frames.encode_error(Status.RUNTIME_ERROR, frames.one_line(error))


def decisions(task: Task, source: str, instances: np.ndarray) -> np.ndarray:
    """What a compiled candidate decides, int64, one row per instance; lifts the deadline once it is checked.

    Raises:
        NotCompilable: it is refused, or its two forms decide differently on a few instances.
        Exception: of any other type: Numba does not compile it, or one of the forms fails.
    """
    if task.compiled is None:
        raise NotCompilable("the problem has no compiled form")
    tree = rewritten(source)
    few = instances[np.unique(np.linspace(0, len(instances) - 1, CHECKED, dtype=int))]
    fresh.reset()
    expected = task.run(candidate.load(source, task.function, task.arguments), few)
    heuristic = jitted(tree, task.function, task.arguments)
    if not np.array_equal(task.compiled(heuristic, few), expected):
        raise NotCompilable("compiled, it decides otherwise")
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    return task.compiled(heuristic, instances)


def warm(task: Task) -> None:
    """Compile the simplest known heuristic, so that what Numba loads and compiles for it is there.

    Raises:
        Exception: of any type, when that fails.
    """
    instances = task.instances("train", task.sizes["train"][0])[:1]
    heuristic = jitted(rewritten(next(iter(task.heuristics.values()))), task.function, task.arguments)
    if task.compiled is not None:
        task.compiled(heuristic, instances)


def jitted(tree: ast.Module, function: str, arguments: tuple[str, ...]) -> Callable[..., Any]:
    """The ``function`` of a ``rewritten`` candidate under ``njit``, taking ``arguments`` by position.

    Indices are checked. It is compiled when it is first called.

    Raises:
        NotCompilable: it has no such function.
    """
    module = python_types.ModuleType("candidate")
    module.__dict__.update(_HELPERS)
    exec(compile(tree, candidate.FILENAME, "exec", dont_inherit=True), module.__dict__)
    for name, value in list(module.__dict__.items()):
        if isinstance(value, python_types.FunctionType) and value.__globals__ is module.__dict__:
            setattr(module, name, _compile(value))
    heuristic: Any = module.__dict__.get(function)
    if not hasattr(heuristic, "py_func"):
        raise NotCompilable(f"no function {function}")
    names = tuple(inspect.signature(heuristic.py_func).parameters)
    if set(arguments) <= set(names) and names[: len(arguments)] != arguments:
        passed = ", ".join(f"{name}={name}" for name in arguments)
        scope: dict[str, Any] = {"heuristic": heuristic}
        exec(f"def adapted({', '.join(arguments)}):\n    return heuristic({passed})", scope)
        return _compile(scope["adapted"])
    return heuristic


def _compile(function: Callable[..., Any]) -> Any:
    return njit(boundscheck=True)(function)


def rewritten(source: str) -> ast.Module:
    """The candidate as Numba takes more of it, with Python's checks on numbers put in.

    Raises:
        NotCompilable: it uses what compiled code would do differently.
        SyntaxError, ValueError, RecursionError: as ``ast.parse``.
    """
    tree = ast.parse(source)
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        _refuse(node)
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return ast.fix_missing_locations(_Rewriter(names).visit(tree))


def _refuse(node: ast.AST) -> None:
    if isinstance(node, _REFUSED):
        raise NotCompilable(f"it uses {type(node).__name__}")
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        modules += [alias.name for alias in node.names]
        for module in modules:
            if "random" in module.split("."):
                raise NotCompilable("it uses random numbers")
        if isinstance(node, ast.ImportFrom):
            modules = modules[:1]
        if not {module.split(".")[0] for module in modules} <= _MODULES:
            raise NotCompilable(f"it imports {', '.join(modules)}")
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if name == "random":
        raise NotCompilable("it uses random numbers")
    if name in _HELPERS:
        raise NotCompilable(f"it uses {name}")
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            raise NotCompilable("it uses a decorator")
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None and not _is_number(default):
                raise NotCompilable("it has a default that is no number")


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


class _Rewriter(ast.NodeTransformer):
    """Puts in the helpers below, and takes messages out of ``raise``: any error means interpreted.

    ``names`` says what the imported names stand for.
    """

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        if isinstance(node.exc, ast.Call):
            node.exc.args, node.exc.keywords = [], []
        node.cause = None
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        node.msg = None
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _call("_ahd_finite", node) if isinstance(node.op, ast.Pow) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        for keyword in node.keywords:
            if keyword.arg == "dtype":
                keyword.value = _dtype(keyword.value)
        function = node.func
        if isinstance(function, ast.Attribute):
            owner = self._names.get(function.value.id, "") if isinstance(function.value, ast.Name) else ""
            if function.attr == "astype" and node.args:
                node.args[0] = _dtype(node.args[0])
            if owner == "math":
                return self._checked(node, function.attr)
            if function.attr in _REDUCTIONS:
                return _reduction(node, function.attr, owner == "numpy")
        elif isinstance(function, ast.Name):
            module, _, name = self._names.get(function.id, "").rpartition(".")
            if module == "math":
                return self._checked(node, name)
            if function.id in ("int", "round"):
                return self._checked(node, function.id)
            if function.id == "float":
                return _number(node)
        return node

    def _checked(self, node: ast.Call, name: str) -> ast.expr:
        """A call of a function that raises in Python where machine code has an answer."""
        node.args = [_call("_ahd_finite", argument) for argument in node.args]
        return node if name in ("int", "round", *_INTEGRAL) else _call("_ahd_finite", node)


def _number(node: ast.Call) -> ast.expr:
    """``float("inf")`` and the like as a number."""
    if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
        return ast.Constant(float(node.args[0].value))
    return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _dtype(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Name) and node.id in _DTYPES:
        return ast.Name(f"_ahd_{node.id}", ast.Load())
    return node


def _reduction(node: ast.Call, name: str, of_module: bool) -> ast.expr:
    """``x.mean(axis=1)`` and ``np.mean(x, axis=1)`` as calls of a helper, where the axis is a constant."""
    function = node.func
    assert isinstance(function, ast.Attribute)
    given = list(node.args) if of_module else [function.value, *node.args]
    axes = [keyword.value for keyword in node.keywords if keyword.arg == "axis"]
    if len(node.keywords) != len(axes) or len(given) + len(axes) != 2:
        return node
    array, axis = (*given, *axes)
    try:
        number = ast.literal_eval(axis)
    except ValueError:
        return node
    if number not in (0, 1, -1):
        return node
    return _call(f"_ahd_{name}_{'last' if number == -1 else number}", array)


def finite(value: Any) -> Any:
    """``value``; a float that is NaN or infinite raises when compiled. Others pass as they are."""
    return value


@overload(finite)
def _finite(value: Any) -> Any:
    def checked(value: Any) -> Any:
        if not np.isfinite(value):
            raise ValueError
        return value

    def unchecked(value: Any) -> Any:
        return value

    return checked if isinstance(value, types.Float) else unchecked


@njit
def _means(matrix: np.ndarray) -> np.ndarray:
    """Of each row, added up in order."""
    found = np.zeros(matrix.shape[0])
    for column in range(matrix.shape[1]):
        for row in range(matrix.shape[0]):
            found[row] += matrix[row, column]
    return found / matrix.shape[1]


@njit
def _least(matrix: np.ndarray) -> np.ndarray:
    found = np.empty(matrix.shape[0], matrix.dtype)
    for row in range(matrix.shape[0]):
        found[row] = matrix[row].min()
    return found


@njit
def _greatest(matrix: np.ndarray) -> np.ndarray:
    found = np.empty(matrix.shape[0], matrix.dtype)
    for row in range(matrix.shape[0]):
        found[row] = matrix[row].max()
    return found


_REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "mean": (np.mean, _means),
    "min": (np.min, _least),
    "max": (np.max, _greatest),
}


def _reducing(name: str, axis: int) -> Callable[..., Any]:
    """A compiled reduction of a matrix along an axis, or of a vector."""
    whole, rows = _REDUCTIONS[name]

    def reduce(array: Any) -> Any:
        return whole(array, axis=axis)

    @overload(reduce)
    def _reduce(array: Any) -> Any:
        def of_vector(array: Any) -> Any:
            return whole(array)

        def of_rows(array: Any) -> Any:
            return rows(array)

        def of_columns(array: Any) -> Any:
            return rows(array.T)

        if not isinstance(array, types.Array) or array.ndim > 2 or array.ndim <= axis:
            return None
        if array.ndim == 1:
            return of_vector
        return of_columns if axis == 0 else of_rows

    return reduce


_HELPERS: dict[str, Any] = {
    "_ahd_finite": finite,
    **{f"_ahd_{name}": dtype for name, dtype in _DTYPES.items()},
    **{
        f"_ahd_{name}_{label}": _reducing(name, axis)
        for name in _REDUCTIONS
        for label, axis in (("0", 0), ("1", 1), ("last", -1))
    },
}
