"""Finds lines of Python 2 in a program, and says how to edit them. Nothing is translated."""

from __future__ import annotations

import ast

from systole_tpu._scopes import asks_by_try

# Names and methods of Python 2, and what they are now.
_NAMES = {
    "xrange": "range", "unicode": "str", "raw_input": "input", "basestring": "str", "long": "int", "unichr": "chr",
    "reload": "importlib.reload",
}  # fmt: skip
_MODULES = {
    "cPickle": "pickle", "urllib2": "urllib.request", "Queue": "queue", "StringIO": "io", "cStringIO": "io",
    "ConfigParser": "configparser",
}  # fmt: skip
_METHODS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys"}


class _Old(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self.bound: set[str] = set()
        self._tried = False  # in a `try` for what Python 2 or 3 lacks

    def visit_Try(self, node: ast.Try) -> None:
        before = self._tried
        self._tried = before or asks_by_try(node)
        for part in (*node.body, *node.orelse, *node.handlers):
            self.visit(part)
        self._tried = before
        for part in node.finalbody:
            self.visit(part)

    def _import(self, node: ast.Import | ast.ImportFrom, module: str) -> None:
        if module in _MODULES and not self._tried:
            self.found.append((node.lineno, f"the module {module} is {_MODULES[module]} in Python 3"))

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self._import(node, name.name)
            if name.name not in _MODULES:
                self.bound.add((name.asname or name.name).partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not node.level:
            self._import(node, node.module or "")
        self.bound.update(name.asname or name.name for name in node.names)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.bound.add(node.name)
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self.bound.add(node.arg)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bound.add(node.id)
        elif node.id in _NAMES and not self._tried:
            self.found.append((node.lineno, f"{node.id} is {_NAMES[node.id]} in Python 3"))

    def visit_Call(self, node: ast.Call) -> None:
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method in _METHODS and not node.args:
            self.found.append((node.lineno, f".{method}() is .{_METHODS[method]}() in Python 3"))
        if method == "has_key":
            self.found.append((node.lineno, ".has_key(k) is k in ... in Python 3"))
        self.generic_visit(node)


def old_lines(tree: ast.AST) -> list[tuple[int, str]]:
    """(line, what to write) of what Python 3 lacks. Names that the file binds itself, and what a `try` imports or
    reads that catches its absence, are left out."""
    visitor = _Old()
    visitor.visit(tree)
    return [(line, text) for line, text in visitor.found if text.partition(" ")[0] not in visitor.bound]


def syntax_text(error: SyntaxError) -> str:
    """The error with its line, and the edit for a print statement."""
    hint = "; print is a function in Python 3: print(...)" if "print" in str(error) else ""
    return f"{error.filename}:{error.lineno}: {error.msg}{hint}"
