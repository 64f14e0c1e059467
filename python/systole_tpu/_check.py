"""systole check PROGRAM.py: the names of TensorFlow that a program uses, before anything runs."""

from __future__ import annotations

import ast
import os
import sys
from typing import Any

from systole_tpu import _hook


class _Names(ast.NodeVisitor):
    """Collects (line, dotted name below tf) of one file, with its aliases followed."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.used: list[tuple[int, str]] = []
        self.imports: list[str] = []

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            head, _, rest = name.name.partition(".")
            if head in ("tensorflow", "tensorflow_estimator", "keras"):
                prefix = "" if head == "tensorflow" else "estimator" if head == "tensorflow_estimator" else "keras"
                full = ".".join(p for p in (prefix, rest) if p)
                self.aliases[name.asname or head] = full if name.asname else prefix
                if full:
                    self.used.append((node.lineno, full))
            else:
                self.imports.append(name.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        head, _, rest = (node.module or "").partition(".")
        if head not in ("tensorflow", "tensorflow_estimator", "keras") or node.level:
            self.imports.append(node.module or "")
            return
        prefix = {"tensorflow_estimator": "estimator", "keras": "keras"}.get(head, "")
        for name in node.names:
            full = ".".join(p for p in (prefix, rest, name.name) if p)
            self.aliases[name.asname or name.name] = full
            self.used.append((node.lineno, full))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = [node.attr]
        value: Any = node.value
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in self.aliases:
            prefix = self.aliases[value.id]
            self.used.append((node.lineno, ".".join([*([prefix] if prefix else []), *reversed(parts)])))
        else:
            self.generic_visit(node)


def _parse(path: str) -> _Names:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = _Names()
    names.visit(ast.parse(text, path))
    return names


def _exists(name: str) -> bool:
    """Whether tf.<name> is here; what lies below a class or a value is not looked at."""
    import systole_tpu.tensorflow as tf

    value: Any = tf
    for part in name.split("."):
        if not isinstance(value, type(tf)):
            return True
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def check(program: str) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    """(file, line, name) of the names that are there, and of those that are missing; once each.

    Modules of the program's own folder that it imports are read too.
    """
    folder = os.path.dirname(os.path.abspath(program))
    present: dict[str, tuple[str, int, str]] = {}
    missing: dict[str, tuple[str, int, str]] = {}
    queue, done = [program], set()
    while queue:
        path = queue.pop(0)
        if path in done:
            continue
        done.add(path)
        names = _parse(path)
        for line, name in names.used:
            found = present if _exists(name) else missing
            found.setdefault(name, (path, line, name))
        for module in names.imports:
            below = os.path.join(folder, *module.split(".")) + ".py"
            if module and os.path.isfile(below):
                queue.append(below)
    return list(present.values()), list(missing.values())


def main(words: list[str]) -> int:
    if len(words) != 1 or not os.path.isfile(words[0]):
        print("systole check: PROGRAM.py, expected one file", file=sys.stderr)
        return 2
    _hook.install()
    try:
        present, missing = check(words[0])
    except SyntaxError as error:
        hint = "; print is a function in Python 3: print(...)" if "print" in str(error) else ""
        print(f"{error.filename}:{error.lineno}: {error.msg}{hint}")
        return 1
    for path, line, name in missing:
        print(f"{path}:{line}: tf.{name} is missing")
    print(f"{len(present)} names are there, {len(missing)} are missing")
    return 1 if missing else 0
