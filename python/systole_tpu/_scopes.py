"""Reads one file of a program: its scopes, what names in them stand for, and the names of TensorFlow that they use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

# Top-level modules that are served, and what they are below `tf`.
HEADS = {"tensorflow": "", "tensorflow_estimator": "estimator", "keras": "keras"}
# Parts of names, and functions, in conditions that ask what the environment has.
_ASKS = ("hasattr", "version", "py2", "py3", "type_checking", "eager")
_ASKING_CALLS = {"getattr", "dir", "vars", "find_spec", "find_loader"}
_CATCHES = {"ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "Exception", "BaseException"}
# Decorators that keep no reference to the function.
_PLAIN_DECORATORS = {
    "property", "setter", "getter", "staticmethod", "classmethod", "contextmanager", "wraps", "lru_cache", "cache",
    "abstractmethod", "abstractproperty", "total_ordering", "dataclass", "overload", "override", "expectedFailure",
    "skip", "skipIf", "skipUnless",
}  # fmt: skip
_SKIPS = {"skip", "skipIf", "skipUnless"}
# What calls return here.
_CONSTANT_CALLS = {"executing_eagerly": False, "in_eager_mode": False, "in_graph_mode": True}


@dataclass(frozen=True)
class Binding:
    """What a name stands for.

    kind: "tf" (text: the name below tf), "chain" (parts: other names), "file" (text: a module, or one that `member`
    is imported from; level: dots before it), "scope" (a function or class), "none", or "other".
    guarded: the program asks first whether what it stands for is there.
    """

    kind: str
    text: str = ""
    member: str = ""
    level: int = 0
    parts: tuple[str, ...] = ()
    scope: Any = None
    guarded: bool = False


@dataclass(frozen=True)
class Chain:
    """A name, or attributes of one, that a scope reads. `guarded`: the program asks first whether it is there.

    ("@lambda", i) is the i-th child of the scope, ("@", decorator's parts.., name) a function under a decorator.
    """

    line: int
    parts: tuple[str, ...]
    guarded: bool


@dataclass(eq=False)
class Scope:
    """A module, a class or a function."""

    kind: str
    name: str
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    chains: list[Chain] = field(default_factory=list)
    imports: list[tuple[Binding, bool]] = field(default_factory=list)  # of modules, whether it is guarded
    uses: list[Chain] = field(default_factory=list)  # imports of TensorFlow's names: parts are below tf
    bases: list[Chain] = field(default_factory=list)
    children: list[Scope] = field(default_factory=list)
    itself: str = ""  # a method's first argument
    attributes: dict[str, list[Binding]] = field(default_factory=dict)  # a class's: self.x = ...
    outer: dict[str, Scope] = field(default_factory=dict)  # where names are bound that are global or nonlocal
    is_foreign: bool = False  # a class with a base that is no name
    words: set[str] = field(default_factory=set)  # a module's: attributes and identifiers in strings
    made: list[tuple[str, ...]] = field(default_factory=list)  # attributes of names that it assigns: tf.x = ...

    def bind(self, name: str, binding: Binding) -> None:
        if name in self.outer:
            self.outer[name].bind(name, binding)
            return
        found = self.bindings.setdefault(name, [])
        if binding not in found:
            found.append(binding)


def _chain_of(node: ast.AST) -> tuple[str, ...]:
    """The parts of a.b.c; () of other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def _caught(handler: ast.ExceptHandler) -> bool:
    """Whether the handler is for names or modules that are missing."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (_chain_of(kind) or ("",))[-1] in _CATCHES for kind in kinds)


def asks_by_try(node: ast.Try) -> bool:
    """Whether the program goes on where a name or a module in the body is missing."""
    return any(map(_caught, node.handlers))


def _ends(statements: list[ast.stmt]) -> bool:
    """Whether what follows the block that holds them does not run after them."""
    return bool(statements) and isinstance(statements[-1], (ast.Return, ast.Continue, ast.Break))


def _called(node: ast.AST) -> str:
    """The last part of the name that is called: "hasattr" of six.moves.hasattr(...)."""
    return (_chain_of(node.func if isinstance(node, ast.Call) else node) or ("",))[-1]


class _Constants(ast.NodeVisitor):
    """Finds the names that are assigned once in a file, at its top level, and to a constant: DEBUG = False."""

    def __init__(self, tree: ast.AST) -> None:
        self._stores: dict[str, int] = {}
        self.values: dict[str, bool] = {}
        self.visit(tree)
        for node in getattr(tree, "body", ()):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name) and self._stores[target.id] == 1 and node.value.value is not None:
                    self.values[target.id] = bool(node.value.value)

    def _store(self, name: str) -> None:
        self._stores[name] = self._stores.get(name, 0) + 1

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._store(node.id)

    def visit_arg(self, node: ast.arg) -> None:
        self._store(node.arg)

    def visit_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self._store(name)

    def visit_alias(self, node: ast.alias) -> None:
        self._store(node.asname or node.name)


class Reader(ast.NodeVisitor):
    """Collects the scopes of one module."""

    def __init__(self, tree: ast.AST) -> None:
        self._constants = _Constants(tree).values
        self.module = Scope("module", "", None)
        self._scope = self.module
        self._guarded = False
        self._asked: set[str] = set()  # variables that hold the answer of a question, and functions that return it
        self.visit(tree)

    # -- Scopes.

    def _inside(self, scope: Scope, nodes: Iterable[ast.AST], guarded: bool) -> None:
        before = self._scope, self._guarded
        self._scope, self._guarded = scope, guarded
        self._visit_block(nodes)
        self._scope, self._guarded = before

    def _visit_block(self, nodes: Iterable[ast.AST]) -> None:
        """Statements, in order. What follows `if not hasattr(...): return` is guarded."""
        before = self._guarded
        for node in nodes:
            self.visit(node)
            if isinstance(node, ast.If):
                body, orelse = self._guards(node.test)
                self._guarded |= (_ends(node.body) and orelse) or (_ends(node.orelse) and body)
        self._guarded = before

    def generic_visit(self, node: ast.AST) -> None:
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                self._visit_block(n for n in value if isinstance(n, ast.AST))
            elif isinstance(value, ast.AST):
                self.visit(value)

    def _child(self, kind: str, name: str) -> Scope:
        child = Scope(kind, name, self._scope)
        self._scope.children.append(child)
        return child

    def _decorators(self, node: Any, child: Scope) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
            parts = _chain_of(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if parts and parts[-1] not in _PLAIN_DECORATORS:
                # "@": the decorator may keep the function, unless it is TensorFlow's.
                self._scope.chains.append(Chain(node.lineno, ("@", *parts, node.name), self._guarded))
        self._scope.bind(node.name, Binding("scope", scope=child))

    def _visit_function(self, node: Any) -> None:
        child = self._child("function", getattr(node, "name", ""))
        guarded = self._guarded
        if isinstance(node, ast.Lambda):
            # A lambda counts as called where it stands.
            self._scope.chains.append(Chain(node.lineno, ("@lambda", str(len(self._scope.children) - 1)), guarded))
        else:
            self._decorators(node, child)
            guarded = guarded or any(_called(decorator) in _SKIPS for decorator in node.decorator_list)
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(default)
        arguments = [*node.args.posonlyargs, *node.args.args]
        if self._scope.kind == "class" and arguments:
            child.itself = arguments[0].arg
        for argument in (*arguments, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
            if argument is not None:
                child.bind(argument.arg, Binding("other"))
        self._inside(child, node.body if isinstance(node.body, list) else [node.body], guarded)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        child = self._child("class", node.name)
        self._decorators(node, child)
        for base in (*node.bases, *(keyword.value for keyword in node.keywords)):
            parts = _chain_of(base)
            if parts:
                child.bases.append(Chain(base.lineno, parts, self._guarded))
            else:
                child.is_foreign = True
                self.visit(base)
        self._inside(child, node.body, self._guarded)

    def _visit_comprehension(self, node: Any) -> None:
        child = self._child("function", "")
        self._scope.chains.append(Chain(node.lineno, ("@lambda", str(len(self._scope.children) - 1)), self._guarded))
        self._inside(child, ast.iter_child_nodes(node), self._guarded)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    # -- What may not run.

    def _truth(self, test: ast.AST) -> bool | None:
        """What a condition always is; None if it depends on the run."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.Name):
            return self._constants.get(test.id)
        if isinstance(test, ast.Call):
            return _CONSTANT_CALLS.get(_called(test))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            truth = self._truth(test.operand)
            return None if truth is None else not truth
        if isinstance(test, ast.BoolOp):
            decides = isinstance(test.op, ast.Or)  # a value that decides alone
            truths = {self._truth(value) for value in test.values}
            return decides if decides in truths else None if None in truths else not decides
        return None

    def _asks(self, test: ast.AST) -> bool:
        """Whether an expression asks what the environment has."""
        words = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
        words |= {n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute)}
        calls = {_called(n) for n in ast.walk(test) if isinstance(n, ast.Call)}
        return bool(words & self._asked or calls & _ASKING_CALLS) or any(a in w.lower() for w in words for a in _ASKS)

    def _guards(self, test: ast.AST) -> tuple[bool, bool]:
        """Whether a condition guards what runs if it holds, and what runs if it does not."""
        truth = self._truth(test)
        if truth is not None:
            return not truth, truth
        return (self._asks(test),) * 2

    def _perhaps(self, nodes: Iterable[ast.AST], guarded: bool) -> None:
        before = self._guarded
        self._guarded = before or guarded
        self._visit_block(nodes)
        self._guarded = before

    def _visit_condition(self, node: Any) -> None:
        if ast.unparse(node.test) == "__name__ == '__main__'":
            self._inside(self._child("main", ""), node.body, self._guarded)
            return
        self.visit(node.test)
        for part, guarded in zip((node.body, node.orelse), self._guards(node.test), strict=True):
            self._perhaps(part if isinstance(part, list) else [part], guarded)

    visit_If = visit_IfExp = _visit_condition

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        guarded = False
        for value in node.values:
            self._perhaps([value], guarded)
            guarded |= self._guards(value)[isinstance(node.op, ast.Or)]

    def visit_Try(self, node: ast.Try) -> None:
        self._perhaps([*node.body, *node.orelse], asks_by_try(node))
        self._perhaps(node.handlers, True)  # which run after errors alone
        self._perhaps(node.finalbody, False)

    def _visit_with(self, node: Any) -> None:
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        # suppress(AttributeError), assertRaises(ImportError)
        caught = any(_called(argument) in _CATCHES for call in calls for argument in call.args)
        for item in node.items:
            self.visit(item)
        self._perhaps(node.body, caught)

    visit_With = visit_AsyncWith = _visit_with

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            if self._asks(node.value):
                self._asked.add(self._scope.name)
            self.visit(node.value)

    # -- Names.

    def visit_Global(self, node: ast.Global) -> None:
        if self._scope is not self.module:
            self._scope.outer.update(dict.fromkeys(node.names, self.module))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        if self._scope.parent is not None:
            self._scope.outer.update(dict.fromkeys(node.names, self._scope.parent))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._scope.bind(node.name, Binding("other"))
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            head, _, rest = name.name.partition(".")
            bound = name.asname or head
            if head in HEADS:
                full = ".".join(p for p in (HEADS[head], rest) if p)
                self._scope.bind(bound, Binding("tf", full if name.asname else HEADS[head], guarded=self._guarded))
                if full:
                    self._scope.uses.append(Chain(node.lineno, tuple(full.split(".")), self._guarded))
            else:
                self._scope.bind(bound, Binding("file", name.name if name.asname else head))
                self._scope.imports.append((Binding("file", name.name), self._guarded))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        head, _, rest = (node.module or "").partition(".")
        if head not in HEADS or node.level:
            for name in node.names:
                binding = Binding("file", node.module or "", name.name, node.level)
                self._scope.imports.append((binding, self._guarded))
                self._scope.bind(name.asname or name.name, binding)
            return
        for name in node.names:
            star = name.name == "*"
            full = ".".join(p for p in (HEADS[head], rest, "" if star else name.name) if p)
            if full:
                self._scope.uses.append(Chain(node.lineno, tuple(full.split(".")), self._guarded))
            if not star:
                self._scope.bind(name.asname or name.name, Binding("tf", full, guarded=self._guarded))

    def _assign(self, target: ast.AST, value: ast.AST | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for i, element in enumerate(target.elts):
                self._assign(element, values[i] if len(values) == len(target.elts) else None)
            return
        parts = _chain_of(value) if value is not None else ()
        binding = Binding("other")
        if parts:
            binding = Binding("chain", parts=parts, scope=self._scope, guarded=self._guarded)
        if isinstance(value, ast.Constant) and value.value is None:
            binding = Binding("none")
        if isinstance(target, ast.Name):
            if (target.id,) != parts:
                self._scope.bind(target.id, binding)
            if value is not None and self._asks(value):
                self._asked.add(target.id)
        elif isinstance(target, ast.Attribute):
            owner, method = _chain_of(target.value), self._scope
            self._make(owner, target.attr)
            while method is not None and not method.itself:
                method = method.parent  # type: ignore[assignment]
            if method is not None and method.parent is not None and owner == (method.itself,):
                method.parent.attributes.setdefault(target.attr, []).append(binding)

    def _make(self, owner: tuple[str, ...], name: str) -> None:
        if owner:
            self._scope.made.append((*owner, name))

    def visit_Call(self, node: ast.Call) -> None:
        if _called(node) == "setattr" and len(node.args) == 3 and isinstance(node.args[1], ast.Constant):
            self._make(_chain_of(node.args[0]), str(node.args[1].value))
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._assign(target, node.value)
            for inner in ast.walk(target):
                if isinstance(getattr(inner, "ctx", None), ast.Load) and isinstance(inner, (ast.Name, ast.Attribute)):
                    self.visit(inner)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self._assign(node.target, node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._scope.chains.append(Chain(node.lineno, (node.id,), self._guarded))
        else:
            self._scope.bind(node.id, Binding("other"))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts = _chain_of(node)
        if not parts:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self._scope.chains.append(Chain(node.lineno, parts, self._guarded))
        else:
            self.visit(node.value)


def read(tree: ast.AST) -> Scope:
    """The scopes of a module: that of the module itself, with the others below it."""
    module = Reader(tree).module
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module.words.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            module.words.add(node.value)
    return module


def look_up(scope: Scope, name: str) -> tuple[Scope, Sequence[Binding]]:
    """The scope whose name it is, and what it stands for there; () for a name of Python or of nobody."""
    here: Scope | None = scope
    while here is not None:
        visible = here is scope or here.kind != "class"
        if visible and name in here.bindings:
            return here, here.bindings[name]
        if here.parent is None:
            return here, ()
        here = here.parent
    return scope, ()
