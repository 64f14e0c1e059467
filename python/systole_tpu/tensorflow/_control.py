"""Branches, loops, maps over rows, and functions of Python as ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from systole_tpu import _core

from ._dtypes import as_dtype
from ._framework import Operation, Tensor, Variable, control_dependencies, op
from ._registry import NAMES, export
from ._shapes import TensorShape


def flatten(structure: Any) -> list[Any]:
    """The leaves of nested tuples, lists and dicts, dicts by their sorted keys."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for value in structure for leaf in flatten(value)]
    return [structure]


def pack_like(structure: Any, leaves: list[Any]) -> Any:
    """`structure` with these leaves."""
    rest = iter(leaves)

    def pack(value: Any) -> Any:
        if isinstance(value, dict):
            packed = {key: pack(value[key]) for key in sorted(value)}
            return {key: packed[key] for key in value}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(pack(v) for v in value))
        if isinstance(value, (list, tuple)):
            return type(value)(pack(v) for v in value)
        return next(rest)

    return pack(structure)


export("contrib.framework.nest.flatten")(flatten)


@export("nest.flatten")
def _flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of lists, tuples and dicts in each other, in their order."""
    return flatten(structure)


@export("nest.pack_sequence_as", "contrib.framework.nest.pack_sequence_as")
def _pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """The leaves in the form of a structure."""
    return pack_like(structure, list(flat_sequence))


@export("nest.map_structure", "contrib.framework.nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    return pack_like(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure), strict=True)])


class _Branch:
    """A branch as C++ calls it: leaves out, the structure kept."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self.structure: Any = None

    def __call__(self) -> list[Any]:
        self.structure = self._function()
        leaves = []
        for leaf in flatten(self.structure):
            if isinstance(leaf, Operation):
                with control_dependencies([leaf]):
                    leaves.append(op("constant", 0))
            elif leaf is None:
                leaves.append(op("constant", 0))
            else:
                leaves.append(leaf.read_value() if isinstance(leaf, Variable) else leaf)
        return leaves


@export("cond")
def cond(
    pred: Any,
    true_fn: Any = None,
    false_fn: Any = None,
    strict: bool = False,
    name: Any = None,
    fn1: Any = None,
    fn2: Any = None,
) -> Any:
    """true_fn() when `pred` is true, else false_fn(); only that one is run."""
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    then, other = _Branch(true_fn), _Branch(false_fn)
    results = _core.cond(pred, then, other, name or "cond")
    for branch, function in ((then, "true_fn"), (other, "false_fn")):
        if branch.structure is None:
            raise ValueError(f"{function} must have a return value.")
    packed = pack_like(then.structure, results)
    return packed[0] if isinstance(packed, list) and len(packed) == 1 and not strict else packed


@export("case")
def case(
    pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str = "case"
) -> Any:
    """The function of the first predicate that is true."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if default is None:
        default = pairs.pop()[1]
    result = default
    for pred, function in reversed(pairs):
        result = (lambda p, f, rest: lambda: cond(p, f, rest))(pred, function, result)
    return result()


@export("contrib.framework.smart_cond", "smart_cond")
def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: Any = None) -> Any:
    if isinstance(pred, (bool, int)):
        return true_fn() if pred else false_fn()
    return cond(pred, true_fn, false_fn, name=name)


@export("while_loop")
def while_loop(
    cond: Any,
    body: Any,
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: Any = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """while cond(*vars): vars = body(*vars)."""
    variables = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]

    def test(values: list[Any]) -> Any:
        return cond(*pack_like(variables, values))

    def step(values: list[Any]) -> list[Any]:
        result = body(*pack_like(variables, values))
        return flatten(list(result) if isinstance(result, (list, tuple)) else [result])

    results = pack_like(variables, _core.while_loop(test, step, flatten(variables), maximum_iterations, name or ""))
    return (
        results[0]
        if len(results) == 1 and not return_same_structure
        else type(loop_vars)(results)
        if isinstance(loop_vars, (list, tuple)) and not hasattr(loop_vars, "_fields")
        else results
    )


@export("map_fn")
def map_fn(
    fn: Any,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: Any = None,
) -> Any:
    """fn of each row of elems, stacked."""
    structure: list[Any] = []

    def call(rows: list[Any]) -> list[Any]:
        structure.append(fn(pack_like(elems, rows)))
        return flatten(structure[-1])

    return pack_like_of(structure, _core.map_fn(call, flatten(elems), name or ""))


def pack_like_of(structure: list[Any], results: list[Any]) -> Any:
    return pack_like(structure[-1], results)


@export("scan")
def scan(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: Any = None,
) -> Any:
    """The states after each row: state = fn(state, row)."""
    first = initializer
    rows = elems
    if initializer is None:
        first = map_structure(lambda e: e[-1 if reverse else 0], elems)
        rows = map_structure(lambda e: e[:-1] if reverse else e[1:], elems)

    def call(state: list[Any], row: list[Any]) -> list[Any]:
        return flatten(fn(pack_like(first, state), pack_like(elems, row)))

    stacked, _ = _core.scan(call, flatten(rows), flatten(first), reverse, name or "")
    if initializer is None:
        parts = [[op("expand_dims", f, 0), s] for f, s in zip(flatten(first), stacked, strict=True)]
        stacked = [op("concat", p[::-1] if reverse else p, 0) for p in parts]
    return pack_like(first, stacked)


def _fold(fn: Any, elems: Any, initializer: Any, reverse: bool, name: Any) -> Any:
    first = initializer
    if initializer is None:
        first = elems[-1 if reverse else 0]
        elems = elems[:-1] if reverse else elems[1:]

    def call(state: list[Any], row: list[Any]) -> list[Any]:
        return [fn(state[0], row[0])]

    return _core.scan(call, [elems], [first], reverse, name or "")[1][0]


@export("foldl")
def foldl(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: Any = None,
) -> Any:
    return _fold(fn, elems, initializer, False, name)


@export("foldr")
def foldr(
    fn: Any,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: Any = None,
) -> Any:
    return _fold(fn, elems, initializer, True, name)


@export("py_func")
def py_func(func: Any, inp: Any, Tout: Any, stateful: bool = True, name: Any = None) -> Any:
    """What a function of Python returns for the values of tensors; it is called in every run that needs it.

    Results are of unknown shapes in TensorFlow; here set_shape() of `func.shapes` or scalars.
    """
    several = isinstance(Tout, (list, tuple))
    types = [as_dtype(t) for t in (Tout if several else [Tout])]
    shapes = getattr(func, "shapes", [()] * len(types))

    def call(values: list[Any]) -> list[Any]:
        result = func(*values)
        if result is None and several and not types:
            return []
        results = list(result) if several and isinstance(result, (list, tuple)) else [result]
        if len(results) != len(types) or any(value is None for value in results):
            raise TypeError(
                f"tf.py_func: function '{getattr(func, '__qualname__', func)}', got {result!r}, expected "
                f"{', '.join(t.name for t in types) or 'None'}"
            )
        return results

    pairs = [(t, TensorShape(s).as_list()) for t, s in zip(types, shapes, strict=True)]
    results = _core.py_func(call, list(inp), pairs, name or "PyFunc")
    return results if several else results[0]


@export("make_template")
def make_template(
    name_: str,
    func_: Any,
    create_scope_now_: bool = False,
    unique_name_: Any = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Any:
    """func_ that makes its variables in the first call and uses them in later ones."""
    scopes: list[Any] = []

    def call(*args: Any, **more: Any) -> Any:
        again = bool(scopes)
        with NAMES["variable_scope"](scopes[0] if again else None, name_, reuse=True if again else None) as scope:
            if not again:
                scopes.append(scope)
            return func_(*args, **kwargs, **more)

    return call


__all__ = ["Tensor"]
