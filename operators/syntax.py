"""Reading untrusted code as a syntax tree, and its canonical form. Nothing is ever executed."""

import ast
import warnings

UNPARSABLE = (SyntaxError, ValueError, RecursionError, OverflowError)
"""What ``parse`` raises on hostile text (null bytes, deep nesting, huge numbers)."""

LARGEST = 200_000
"""Characters beyond which code is not read: the sandbox refuses it too."""
_ROOM = 64 << 20
"""Bytes that are free where Python's parser gives up because of the text, not of the machine."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_NAMED_OTHERWISE = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.ExceptHandler, ast.Match)


def parse(code: str) -> ast.Module:
    """``ast.parse`` without warnings on the screen.

    Python's parser answers deep nesting with ``MemoryError`` or ``SystemError``, and so it does when there is
    no memory. Here the first is a ``ValueError``: a machine without memory must not look like a bad text.

    Raises:
        SyntaxError, ValueError, RecursionError, OverflowError: see ``UNPARSABLE``.
        MemoryError: there is no memory.
    """
    if len(code) > LARGEST:
        raise ValueError(f"code of {len(code)} characters")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except (MemoryError, SystemError):
            bytearray(_ROOM)
            raise ValueError("code that is nested too deeply") from None


def normalise(code: str) -> str:
    """Canonical form of ``code``: equal for two texts that are the same program.

    Formatting, comments, docstrings and annotations go; the local variables of plain functions are
    numbered in order of first appearance; constants stay. Code that cannot be read comes back as its
    own text without surrounding white space.
    """
    try:
        tree = parse(code)
        taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                _drop_documentation(node)
        if not any(name.startswith("_local") for name in taken):
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    _number_locals(node)
        return ast.unparse(tree)
    except UNPARSABLE:
        return code.strip()


def _drop_documentation(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        node.returns = None
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            argument.annotation = None


def _number_locals(function: ast.FunctionDef) -> None:
    """Rename the variables assigned in ``function``, unless names are bound there in other ways too."""
    inside = [node for statement in function.body for node in ast.walk(statement)]
    if any(isinstance(node, _SCOPES + _NAMED_OTHERWISE) for node in inside):
        return
    arguments = function.args
    parameters = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    parameters |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    names = [node for node in inside if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)} - parameters
    numbers: dict[str, str] = {}
    for name in names:
        if name.id in stored:
            name.id = numbers.setdefault(name.id, f"_local{len(numbers)}")
