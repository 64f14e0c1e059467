"""systole check PROGRAM.py: names of TensorFlow that a program uses, and what it has of Python 2, before it runs."""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from systole_tpu import _hook

_HEADS = {"tensorflow": "", "tensorflow_estimator": "estimator", "keras": "keras"}
# Names and methods of Python 2, and what they are now.
_PYTHON_2 = {
    "xrange": "range", "unicode": "str", "raw_input": "input", "basestring": "str", "long": "int", "unichr": "chr",
    "reload": "importlib.reload",
}  # fmt: skip
_MODULES_2 = {
    "cPickle": "pickle", "urllib2": "urllib.request", "Queue": "queue", "StringIO": "io", "cStringIO": "io",
    "ConfigParser": "configparser",
}  # fmt: skip
_METHODS_2 = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys"}


@dataclass(frozen=True)
class Use:
    """A name of TensorFlow in a file. `certain`: the line runs when the file is imported."""

    path: str
    line: int
    name: str
    certain: bool


class _Names(ast.NodeVisitor):
    """Collects the names of one file, with its aliases followed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.aliases: dict[str, str] = {}
        self.used: list[Use] = []
        self.imports: list[tuple[str, int, bool]] = []  # module, level, whether it is imported for certain
        self.old: list[tuple[int, str]] = []  # (line, what to write)
        self._bound: set[str] = set()
        self._certain = True

    def _use(self, node: Any, name: str) -> None:
        self.used.append(Use(self.path, node.lineno, name, self._certain))

    def _perhaps(self, nodes: Any) -> None:
        """Visits what may not run."""
        before, self._certain = self._certain, False
        for node in nodes:
            self.visit(node)
        self._certain = before

    def _visit_function(self, node: Any) -> None:
        self._bound.add(getattr(node, "name", ""))
        for part in (*getattr(node, "decorator_list", []), node.args):
            self.visit(part)
        self._perhaps(node.body if isinstance(node.body, list) else [node.body])

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        if ast.unparse(node.test) == "__name__ == '__main__'":
            for inner in node.body:
                self.visit(inner)
            return
        self._perhaps([*node.body, *node.orelse])

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._perhaps([node.body, node.orelse])

    def visit_Try(self, node: ast.Try) -> None:
        self._perhaps([*node.body, *node.handlers, *node.orelse, *node.finalbody])

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            if name.name not in _MODULES_2:
                self._bound.add((name.asname or name.name).partition(".")[0])
            head, _, rest = name.name.partition(".")
            if head in _HEADS:
                full = ".".join(p for p in (_HEADS[head], rest) if p)
                self.aliases[name.asname or head] = full if name.asname else _HEADS[head]
                if full:
                    self._use(node, full)
            else:
                self.imports.append((name.name, 0, self._certain))
                self._note_module(node, name.name)

    def _note_module(self, node: ast.AST, module: str) -> None:
        if module in _MODULES_2:
            self.old.append((node.lineno, f"the module {module} is {_MODULES_2[module]} in Python 3"))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._bound.update(name.asname or name.name for name in node.names)
        head, _, rest = (node.module or "").partition(".")
        if head not in _HEADS or node.level:
            module = node.module or ""
            if not node.level:
                self._note_module(node, module)
            self.imports.append((module, node.level, self._certain))
            self.imports += [(f"{module}.{name.name}".lstrip("."), node.level, self._certain) for name in node.names]
            return
        for name in node.names:
            if name.name == "*":
                if module := ".".join(p for p in (_HEADS[head], rest) if p):
                    self._use(node, module)
                continue
            full = ".".join(p for p in (_HEADS[head], rest, name.name) if p)
            self.aliases[name.asname or name.name] = full
            self._use(node, full)

    def visit_arg(self, node: ast.arg) -> None:
        self._bound.add(node.arg)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bound.add(node.id)
        elif node.id in _PYTHON_2:
            self.old.append((node.lineno, f"{node.id} is {_PYTHON_2[node.id]} in Python 3"))

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _METHODS_2 and not node.args:
            self.old.append((node.lineno, f".{function.attr}() is .{_METHODS_2[function.attr]}() in Python 3"))
        if isinstance(function, ast.Attribute) and function.attr == "has_key":
            self.old.append((node.lineno, ".has_key(k) is k in ... in Python 3"))
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = [node.attr]
        value: Any = node.value
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in self.aliases:
            prefix = self.aliases[value.id]
            self._use(node, ".".join([*([prefix] if prefix else []), *reversed(parts)]))
        else:
            self.generic_visit(node)

    def of_python_2(self) -> list[tuple[str, int, str]]:
        """(file, line, what to write) of what Python 3 has not, but for names that the file binds itself."""
        return [(self.path, line, text) for line, text in self.old if text.partition(" ")[0] not in self._bound]


def _parse(path: str) -> _Names:
    with open(path, "rb") as file:
        text = file.read()
    names = _Names(path)
    names.visit(ast.parse(text, path))  # which knows the coding line
    return names


def _exists(name: str) -> bool:
    """Whether tf.<name> is here; what lies below a class or a value is not looked at."""
    import systole_tpu.tensorflow as tf
    from systole_tpu.tensorflow import _places

    value: Any = tf
    path = ""
    for part in name.split("."):
        if not isinstance(value, ModuleType):
            return True
        path = f"{path}.{part}" if path else part
        found = getattr(value, part, None)
        if found is None:
            found = _places.place(path)
        if found is None and not hasattr(value, part):
            return False
        value = found
    return True


@dataclass
class Report:
    """What check() finds: names that are there and names that are missing, once each; lines of Python 2."""

    present: list[Use]
    missing: list[Use]
    old: list[tuple[str, int, str]]

    def lines(self) -> list[str]:
        """What is wrong, a line each."""
        names = [f"{use.path}:{use.line}: tf.{use.name} is missing" for use in self.missing]
        return names + [f"{path}:{line}: {text}" for path, line, text in self.old]


def _files_of(folder: str, module: str) -> list[str]:
    path = os.path.join(folder, *module.split("."))
    return [name for name in (path + ".py", os.path.join(path, "__init__.py")) if module and os.path.isfile(name)]


def check(program: str) -> Report:
    """Reads a program, and the modules of its own folder that it imports.

    Errors: SyntaxError.
    """
    folder = os.path.dirname(os.path.abspath(program))
    present: dict[str, Use] = {}
    missing: dict[str, Use] = {}
    old: list[tuple[str, int, str]] = []
    queue, done = [(program, True)], set()
    while queue:
        path, certain = queue.pop(0)
        if path in done:
            continue
        done.add(path)
        names = _parse(path)
        for use in names.used:
            made = Use(use.path, use.line, use.name, use.certain and certain)
            found = present if _exists(use.name) else missing
            if use.name not in found or (made.certain and not found[use.name].certain):
                found[use.name] = made
        old += names.of_python_2()
        for module, level, at_once in names.imports:
            place = os.path.dirname(os.path.abspath(path)) if level else folder
            for _ in range(level - 1):
                place = os.path.dirname(place)
            queue += [(file, certain and at_once) for file in _files_of(place, module)]
    return Report(list(present.values()), list(missing.values()), old)


def syntax_text(error: SyntaxError) -> str:
    """The error with its line, and the edit for a print statement."""
    hint = "; print is a function in Python 3: print(...)" if "print" in str(error) else ""
    return f"{error.filename}:{error.lineno}: {error.msg}{hint}"


def before_run(program: str) -> bool:
    """Says on stderr what a program lacks. Returns False where it cannot even be imported."""
    try:
        report = check(program)
    except SyntaxError as error:
        print(syntax_text(error), file=sys.stderr)
        return False
    for line in report.lines():
        print(line, file=sys.stderr)
    return not any(use.certain for use in report.missing)


def main(words: list[str]) -> int:
    if len(words) != 1 or not os.path.isfile(words[0]):
        print("systole check: PROGRAM.py, expected one file", file=sys.stderr)
        return 2
    _hook.install()
    try:
        report = check(words[0])
    except SyntaxError as error:
        print(syntax_text(error))
        return 1
    for line in report.lines():
        print(line)
    print(f"{len(report.present)} names are there, {len(report.missing)} are missing")
    return 1 if report.missing or report.old else 0
