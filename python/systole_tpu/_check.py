"""systole check PROGRAM.py: the names of TensorFlow and the lines of Python 2 in a program, found before it runs."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from systole_tpu import _hook
from systole_tpu._python2 import old_lines, syntax_text
from systole_tpu._scopes import Binding, Chain, Scope, look_up, read

# Functions that call main() of the module, and the tests of its classes.
_RUNS_MAIN = {"app.run"}
_RUNS_TESTS = {"test.main", "unittest.main", "absltest.main", "googletest.main"}
# For GPUs: programs use these in functions that machines without a GPU do not call.
_OF_GPUS = ("contrib.cudnn_rnn", "contrib.nccl", "contrib.tensorrt")


@dataclass(frozen=True)
class Use:
    """A name of TensorFlow in a file. `stops`: the program runs the line, and does not ask first whether the name is
    there."""

    path: str
    line: int
    name: str
    stops: bool

    def __str__(self) -> str:
        more = (
            "" if self.stops else ", in code that nothing calls, that asks for it first or handles errors, or for GPUs"
        )
        if self.name.startswith("contrib.eager"):
            more += ": write it as a graph, whose values tf.Session().run() computes"
        return f"{self.path}:{self.line}: tf.{self.name} is missing{more}"


def _exists(name: str) -> bool:
    """Whether this package has tf.<name>. Attributes of classes and values count as there."""
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


@dataclass(frozen=True)
class _Module:
    """A module in the program's own folder: a file, or a package, which may lack __init__.py."""

    folder: str
    name: str

    def file(self) -> str | None:
        path = os.path.join(self.folder, *self.name.split(".")) if self.name else self.folder
        files = (f"{path}.py", os.path.join(path, "__init__.py"))
        return next((name for name in files if self.name and os.path.isfile(name)), None)

    def below(self, name: str) -> _Module | None:
        made = _Module(self.folder, f"{self.name}.{name}" if self.name else name)
        there = made.file() or os.path.isdir(os.path.join(self.folder, *made.name.split(".")))
        return made if there else None


_Target = tuple[str, Any]
_Seen = frozenset[tuple[Scope, str]]


class _Program:
    """The files of a program, and what its lines use."""

    def __init__(self, path: str) -> None:
        self._folder = os.path.dirname(os.path.abspath(path))
        self._files: dict[str, Scope] = {}
        # (scope, used) of what is reached, see _reach(); whether no question guards it.
        self._stops: dict[tuple[Scope, bool], bool] = {}
        self._queue: list[tuple[Scope, bool]] = []
        self.old: list[tuple[str, int, str]] = []
        self.uses: dict[tuple[str, int, str], Use] = {}
        self._broken: dict[Scope, SyntaxError] = {}
        main = self._read(path)
        self._words = {word for module in self._files.values() for word in module.words}
        self._made = self._made_names()
        self._reach(main, True)
        for scope in main.children:
            if scope.kind == "main":
                self._reach(scope, True)
        self._follow()
        self._note_rest()

    # -- Files.

    def _read(self, path: str) -> Scope:
        if path not in self._files:
            module, error = self._parse(path)
            module.name = path
            self._files[path] = module
            if error is not None:
                self._broken[module] = error
            for scope in _all_scopes(module):
                for binding, _ in scope.imports:
                    for file in self._imported_files(module, binding):
                        self._read(file)
        return self._files[path]

    def _parse(self, path: str) -> tuple[Scope, SyntaxError | None]:
        """Returns the scopes of a file; an empty one with the error if it is no Python 3."""
        with open(path, "rb") as file:
            text = file.read()
        try:
            tree = ast.parse(text, path)  # which knows the coding line
        except SyntaxError as error:
            return Scope("module", path, None), error
        self.old += [(path, line, text) for line, text in old_lines(tree)]
        return read(tree), None

    def _module_of(self, module: Scope, binding: Binding) -> _Module:
        if not binding.level:
            return _Module(self._folder, binding.text)
        place = os.path.dirname(os.path.abspath(module.name))
        for _ in range(binding.level - 1):
            place = os.path.dirname(place)
        return _Module(place, binding.text)

    def _imported_files(self, module: Scope, binding: Binding) -> list[str]:
        base = self._module_of(module, binding)
        names = base.name.split(".") if base.name else []
        modules = [_Module(base.folder, ".".join(names[:i])) for i in range(1, len(names) + 1)]
        if binding.member and (inner := base.below(binding.member)):
            modules.append(inner)
        return [file for m in modules if (file := m.file())]

    # -- What names stand for: ("tf", name), ("scope", scope), or ("unknown", "").
    # `seen`: the names that are being looked up. Each is looked up once on the way, so that `node = node.left`, and
    # modules that import * of each other, come to an end.

    def _within(self, module: _Module, parts: tuple[str, ...], seen: _Seen) -> Iterator[_Target]:
        if not parts:
            return
        file = module.file()
        if file and parts[0] in self._read(file).bindings:
            yield from self._targets(self._read(file), parts, seen)
        elif inner := module.below(parts[0]):
            yield from self._within(inner, parts[1:], seen)
        elif file:
            yield from self._starred(self._read(file), parts, seen)

    def _starred(self, module: Scope, parts: tuple[str, ...], seen: _Seen) -> Iterator[_Target]:
        key = (module, "*" + parts[0])
        if key in seen:
            return
        for binding, _ in module.imports:
            if binding.member == "*":
                yield from self._within(self._module_of(module, binding), parts, seen | {key})

    def _targets(self, scope: Scope, parts: tuple[str, ...], seen: _Seen = frozenset()) -> Iterator[_Target]:
        owner, bindings = look_up(scope, parts[0])
        name, rest = parts[0], parts[1:]
        if owner.itself == name and rest and owner.parent is not None:
            bindings, name, rest = owner.parent.attributes.get(parts[1], ()), ".".join(parts[:2]), parts[2:]
        if (owner, name) in seen or any(binding.kind == "other" for binding in bindings):
            return
        module = _module_scope(owner)
        if not bindings and owner is module:
            yield from self._starred(module, parts, seen)
        seen |= {(owner, name)}
        for binding in bindings:
            if not (binding.guarded and self._is_absent(binding, seen)):
                found = list(self._targets_of(module, binding, rest, seen))
                yield from found or ([] if binding.kind == "none" else [("unknown", "")])

    def _targets_of(self, module: Scope, binding: Binding, rest: tuple[str, ...], seen: _Seen) -> Iterator[_Target]:
        """The attribute `rest` of what a name of the module stands for."""
        if binding.kind == "tf":
            yield "tf", ".".join(p for p in (binding.text, *rest) if p)
        elif binding.kind == "scope":
            yield "scope", binding.scope
        elif binding.kind == "chain":
            yield from self._targets(binding.scope, (*binding.parts, *rest), seen)
        elif binding.kind == "file":
            members = (binding.member, *rest) if binding.member else rest
            yield from self._within(self._module_of(module, binding), members, seen)

    def _is_absent(self, binding: Binding, seen: _Seen) -> bool:
        """Whether what the program asks for first is missing: then the name stands for something else."""
        if binding.kind == "tf":
            return not _exists(binding.text)
        if binding.kind != "chain":
            return False
        targets = self._targets(binding.scope, binding.parts, seen)
        return any(kind == "tf" and not _exists(name) for kind, name in targets)

    def _made_names(self) -> set[str]:
        """The names below tf that the program assigns itself: tf.mul = tf.multiply."""
        return {
            f"{owner}.{name}" if owner else name
            for module in self._files.values()
            for scope in _all_scopes(module)
            for *parts, name in scope.made
            for kind, owner in self._targets(scope, tuple(parts))
            if kind == "tf"
        }

    def _is_made(self, name: str) -> bool:
        parts = name.split(".")
        return any(".".join(parts[:i]) in self._made for i in range(1, len(parts) + 1))

    def _is_foreign(self, scope: Scope, seen: frozenset[Scope] = frozenset()) -> bool:
        """Whether a class has a base that is not in the program, which may call any method."""
        if scope.is_foreign or scope in seen:
            return scope.is_foreign
        for chain in scope.bases:
            bases = [base for kind, base in self._targets(scope.parent or scope, chain.parts) if kind == "scope"]
            if not bases and chain.parts != ("object",):
                return True
            if any(self._is_foreign(base, seen | {scope}) for base in bases):
                return True
        return False

    def _may_be_called(self, scope: Scope, method: str) -> bool:
        is_special = method.startswith("__") and method.endswith("__")
        return is_special or method in self._words or self._is_foreign(scope)

    # -- What is reached.

    def _reach(self, scope: Scope, stops: bool, used: bool = True) -> None:
        """Notes that a module or function runs; of a class, that it is used, or without `used` that its body runs."""
        key = (scope, used)
        if self._stops.get(key, False) or (key in self._stops and not stops):
            return
        self._stops[key] = stops
        self._queue.append(key)

    def _follow(self) -> None:
        while self._queue:
            scope, used = self._queue.pop()
            stops = self._stops[scope, used]
            if scope.kind == "class" and used:
                for chain in scope.bases:
                    self._follow_chain(scope.parent or scope, chain, stops)
                for child in scope.children:
                    if child.kind == "function" and self._may_be_called(scope, child.name):
                        self._reach(child, stops)
            else:
                self._run(scope, stops)

    def _run(self, scope: Scope, stops: bool) -> None:
        if stops and scope in self._broken:
            raise self._broken[scope]
        for use in scope.uses:
            self._note(scope, use.line, [".".join(use.parts)], stops and not use.guarded)
        module = _module_scope(scope)
        for binding, guarded in scope.imports:
            for file in self._imported_files(module, binding):
                self._reach(self._read(file), stops and not guarded)
        for chain in scope.chains:
            self._follow_chain(scope, chain, stops)
        for child in scope.children:
            if child.kind == "class":
                self._reach(child, stops, used=False)
                for chain in child.bases:
                    self._note_chain(scope, chain, stops)

    def _note_chain(self, scope: Scope, chain: Chain, stops: bool) -> list[_Target]:
        targets = list(self._targets(scope, chain.parts))
        names = [target for kind, target in targets if kind == "tf" and target]
        if names:
            # A name that also stands for something else may be that here.
            is_sure = all(kind == "tf" for kind, _ in targets)
            self._note(scope, chain.line, names, stops and is_sure and not chain.guarded)
        return targets

    def _follow_chain(self, scope: Scope, chain: Chain, stops: bool) -> None:
        certain = stops and not chain.guarded
        if chain.parts[0] == "@lambda":
            self._reach(scope.children[int(chain.parts[1])], certain)
            return
        if chain.parts[0] == "@":
            if any(kind == "tf" for kind, _ in self._targets(scope, chain.parts[1:-1])):
                return
            chain = Chain(chain.line, chain.parts[-1:], chain.guarded)
        text = ".".join(chain.parts[-2:])
        if text in _RUNS_MAIN or text in _RUNS_TESTS:
            for child in _module_scope(scope).children:
                if child.name == "main" if text in _RUNS_MAIN else child.kind == "class":
                    self._reach(child, certain)
        for kind, target in self._note_chain(scope, chain, stops):
            if kind == "scope":
                self._reach(target, certain)

    def _note(self, scope: Scope, line: int, names: list[str], stops: bool) -> None:
        """Notes a use. Several `names` are alternatives, as of a module that is imported in two ways."""
        name = names[0] if any(map(_exists, names)) else names[-1]
        if any(map(self._is_made, names)):
            return
        path = _module_scope(scope).name
        stops = stops and (scope.kind == "module" or not name.startswith(_OF_GPUS))
        found = self.uses.get((path, line, name))
        if found is None or (stops and not found.stops):
            self.uses[path, line, name] = Use(path, line, name, stops)

    def _note_rest(self) -> None:
        for module in list(self._files.values()):
            for scope in _all_scopes(module):
                self._run(scope, False)
        self._queue.clear()


def _module_scope(scope: Scope) -> Scope:
    while scope.parent is not None:
        scope = scope.parent
    return scope


def _all_scopes(scope: Scope) -> Iterator[Scope]:
    yield scope
    for child in scope.children:
        yield from _all_scopes(child)


@dataclass
class Report:
    """What check() finds: a use of each name that is there; uses of names that are missing; (path, line, text) of lines
    of Python 2."""

    present: list[Use]
    missing: list[Use]
    old: list[tuple[str, int, str]]

    def lines(self) -> list[str]:
        """What is wrong, a line each; names that stop a run come first."""
        names = [str(use) for use in sorted(self.missing, key=lambda use: (not use.stops, use.path, use.line))]
        return names + [f"{path}:{line}: {text}" for path, line, text in self.old]


def check(*programs: str, broken: list[SyntaxError] | None = None) -> Report:
    """Reads programs, and the modules of their own folders that they import.

    Errors: SyntaxError for a program that is no Python 3; with `broken` it is added there, and the others are read.
    """
    present: dict[str, Use] = {}
    missing: dict[tuple[str, int, str], Use] = {}
    old: dict[tuple[str, int, str], None] = {}
    for path in programs:
        try:
            program = _Program(path)
        except SyntaxError as error:
            if broken is None:
                raise
            broken.append(error)
            continue
        old.update(dict.fromkeys(program.old))
        for key, use in program.uses.items():
            if _exists(use.name):
                present.setdefault(use.name, use)
            elif key not in missing or use.stops:
                missing[key] = use
    return Report(list(present.values()), list(missing.values()), list(old))


def before_run(program: str, allow_missing: bool = False) -> bool:
    """Prints on stderr which names are missing. Returns whether the program should run."""
    try:
        report = check(program)
    except SyntaxError as error:
        print(syntax_text(error), file=sys.stderr)
        return False
    for line in report.lines():
        print(line, file=sys.stderr)
    stops = {use.name for use in report.missing if use.stops}
    if not stops or allow_missing:
        return True
    print(
        f"systole run: {program} uses names that are missing: {', '.join(f'tf.{n}' for n in sorted(stops))}; "
        f"`systole run --allow-missing {program}` runs it until it comes to one",
        file=sys.stderr,
    )
    return False


def _programs(words: list[str]) -> list[str]:
    """The files, and those of folders. Errors: FileNotFoundError."""
    found: list[str] = []
    for word in words:
        if os.path.isdir(word):
            found += sorted(
                os.path.join(folder, name) for folder, _, names in os.walk(word) for name in names if name[-3:] == ".py"
            )
        elif os.path.isfile(word):
            found.append(word)
        else:
            raise FileNotFoundError(f"systole check: PROGRAM.py, got '{word}', expected a file or a folder")
    if not found:
        place = f" in '{' '.join(words)}'" if words else ""
        raise FileNotFoundError(f"systole check: PROGRAM.py, got none{place}, expected files or folders")
    return list(dict.fromkeys(found))


def main(words: list[str]) -> int:
    """`systole check PROGRAM.py...`: prints what is missing; the status is 1 if anything is, 2 for wrong arguments."""
    _hook.install()
    words = [word for word in words if word != "--"]
    if option := next((word for word in words if word.startswith("-")), None):
        print(f"systole check: option, got '{option}', expected none with PROGRAM.py", file=sys.stderr)
        return 2
    try:
        programs = _programs(words)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    broken: list[SyntaxError] = []
    report = check(*programs, broken=broken)
    for line in [*dict.fromkeys(map(syntax_text, broken)), *report.lines()]:
        print(line)
    names = len({use.name for use in report.missing})
    print(f"{len(report.present)} names are there, {names} are missing")
    return 1 if report.missing or report.old or broken else 0
