"""Graphs, tensors and operations: what tf.* has of them besides the functions of ops."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from systole_tpu import _core

from ._dtypes import DType, as_dtype
from ._functions import core_function
from ._registry import NAMES, export
from ._shapes import TensorShape

for _class, _doc in (
    (
        _core.Graph,
        "Operations and the tensors that flow between them. Ops are added to the graph of the innermost `with`.",
    ),
    (_core.Tensor, "A result of an operation: a name, a dtype and a shape, and a value in each run of a session."),
    (_core.Operation, "A node of a graph, which a session runs."),
):
    _class.__doc__ = _doc
Graph = export("Graph")(_core.Graph)
Tensor = export("Tensor")(_core.Tensor)
Operation = export("Operation")(_core.Operation)
Variable = _core.Variable

_local = threading.local()


def op(function: str, /, *arguments: Any, **keywords: Any) -> Any:
    """Calls tf.<name>."""
    return NAMES[function](*arguments, **keywords)


# -- Tensors.


def _tensor_repr(self: Any) -> str:
    return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def _tensor_str(self: Any) -> str:
    shape = "" if not len(self.shape) else f", shape={self.shape}"
    return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name})'


def _no_truth(self: Any) -> bool:
    raise TypeError(
        "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of `if t:` to test if "
        "a tensor is defined, and use TensorFlow ops such as tf.cond to execute subgraphs conditioned on the value of "
        "a tensor."
    )


def _no_iteration(self: Any) -> Iterator[Any]:
    shape = self.shape
    if not len(shape):
        raise TypeError("Cannot iterate over a scalar tensor.")
    if shape[0].value is None:
        raise TypeError("Cannot iterate over a tensor with unknown first dimension.")
    return (self[i] for i in range(int(shape[0])))


def _slice_of(tensor: Any, key: Any) -> Any:
    """x[1:, ::2, 0], as strided_slice has it."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(p, (Tensor, Variable)) for p in parts) or any(
        isinstance(p, slice) and any(isinstance(e, Tensor) for e in (p.start, p.stop, p.step)) for p in parts
    ):
        return _slice_of_tensors(tensor, parts)
    begin, end, strides = [], [], []
    masks = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}
    for i, part in enumerate(parts):
        if part is Ellipsis:
            masks["ellipsis_mask"] |= 1 << i
            b, e, s = 0, 0, 1
        elif part is None:
            masks["new_axis_mask"] |= 1 << i
            b, e, s = 0, 0, 1
        elif isinstance(part, slice):
            s = 1 if part.step is None else int(part.step)
            b = 0 if part.start is None else int(part.start)
            e = 0 if part.stop is None else int(part.stop)
            masks["begin_mask"] |= (part.start is None) << i
            masks["end_mask"] |= (part.stop is None) << i
        else:
            masks["shrink_axis_mask"] |= 1 << i
            b, s = int(part), 1
            e = b + 1
            masks["end_mask"] |= (b == -1) << i
        begin.append(b)
        end.append(e)
        strides.append(s)
    return core_function("strided_slice")(input_=tensor, begin=begin, end=end, strides=strides, **masks)


def _linear(value: Any) -> tuple[dict[Any, int], int]:
    """An integer as a sum of multiples of tensors and a number."""
    if not isinstance(value, (Tensor, Variable)):
        return {}, int(value)
    if isinstance(value, Variable) or not value.dtype.is_integer:
        return {value: 1}, 0
    kind, inputs = value.op.type, value.op.inputs
    if kind == "Const":
        return {}, int(value.op.get_attr("value"))
    if kind in ("Identity", "Cast") and inputs[0].dtype.is_integer:
        return _linear(inputs[0])
    if kind in ("Add", "AddV2", "Sub"):
        return _sum(_linear(inputs[0]), _linear(inputs[1]), -1 if kind == "Sub" else 1)
    if kind == "Mul":
        one, other = _linear(inputs[0]), _linear(inputs[1])
        if not one[0] or not other[0]:
            return _sum(({}, 0), one if one[0] else other, other[1] if one[0] else one[1])
    return {value: 1}, 0


def _sum(one: Any, other: Any, factor: int) -> tuple[dict[Any, int], int]:
    parts = {t: one[0].get(t, 0) + factor * other[0].get(t, 0) for t in {**one[0], **other[0]}}
    return {t: n for t, n in parts.items() if n}, one[1] + factor * other[1]


def _places(begin: Any, end: Any, step: Any) -> Any:
    """begin, begin + step, ... short of end; of a known number, where end - begin is known."""
    if step == 1:
        tensors, distance = _sum(_linear(end), _linear(begin), -1)
        if not tensors:
            return op("range", max(distance, 0)) + op("cast", begin, "int32")
    return op("range", begin, end, step)


def _slice_of_tensors(tensor: Any, parts: list[Any]) -> Any:
    """Positions that are tensors: one axis after the other."""
    axis, result = 0, tensor
    for part in parts:
        if isinstance(part, (Tensor, Variable)):
            result = op("gather", result, part, axis=axis)
            continue
        if isinstance(part, slice) and any(isinstance(e, Tensor) for e in (part.start, part.stop, part.step)):
            rows = op("shape", result)[axis] if part.stop is None else part.stop
            places = _places(0 if part.start is None else part.start, rows, 1 if part.step is None else part.step)
            result = op("gather", result, places, axis=axis)
            axis += 1
            continue
        whole: list[Any] = [slice(None)] * axis
        result = _slice_of(result, (*whole, part))
        axis += not isinstance(part, int)
    return result


def _eval(self: Any, feed_dict: Any = None, session: Any = None) -> Any:
    from ._session import get_default_session

    session = session or get_default_session()
    if session is None:
        raise ValueError(
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with sess.as_default()` or "
            "pass an explicit session to `eval(session=sess)`"
        )
    return session.run(self, feed_dict)


def _run_operation(self: Any, feed_dict: Any = None, session: Any = None) -> None:
    _eval(self, feed_dict, session)


_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "floordiv": "floordiv", "truediv": "truediv", "div": "div",
    "mod": "floormod", "pow": "pow", "and": "logical_and", "or": "logical_or", "xor": "logical_xor", "matmul": "matmul",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
_COMPARISONS = ("lt", "le", "gt", "ge")


def _operator(function: str) -> Any:
    def forward(self: Any, other: Any) -> Any:
        return op(function, self, other)

    return forward


def _reflected(function: str) -> Any:
    def backward(self: Any, other: Any) -> Any:
        return op(function, _like(other, self), self)

    return backward


def _like(value: Any, tensor: Any) -> Any:
    """A number or an array as a tensor of the dtype of another: as a left operand."""
    if isinstance(value, (Tensor, Variable, _core.KerasTensor, _core.KerasWeight, bool, int, float)):
        return value
    return _core.convert_to_tensor(value, tensor.dtype)


def _add_operators(cls: Any) -> None:
    for short, function in _BINARY.items():
        setattr(cls, f"__{short}__", _operator(function))
        if short not in _COMPARISONS:
            setattr(cls, f"__r{short}__", _reflected(function))
    cls.__neg__ = lambda self: op("negative", self)
    cls.__abs__ = lambda self: op("abs", self)
    cls.__invert__ = lambda self: op("logical_not", self)
    cls.__getitem__ = _slice_of
    cls.__bool__ = _no_truth
    cls.__iter__ = _no_iteration
    cls.__array_priority__ = 100
    cls.__len__ = lambda self: (_ for _ in ()).throw(TypeError(f"object of type '{type(self).__name__}' has no len()"))
    cls.dtype = property(lambda self: as_dtype(self._dtype_name))
    cls.shape = property(lambda self: TensorShape(self._dims))
    cls.get_shape = lambda self: self.shape
    cls.eval = _eval
    cls.device = ""


_add_operators(Tensor)
_add_operators(Variable)
_add_operators(_core.KerasTensor)
_add_operators(_core.KerasWeight)
del Tensor.__len__, Variable.__len__
Tensor.__repr__ = _tensor_repr
Tensor.__str__ = _tensor_str
Tensor.consumers = lambda self: [o for o in self.graph.get_operations() if self in o.inputs]
Operation.run = _run_operation
Operation.device = ""
Operation.__repr__ = lambda self: f"<tf.Operation '{self.name}' type={self.type}>"
Operation.node_def = property(lambda self: self)
export("NodeDef")(type("NodeDef", (), {"__doc__": "An operation as a message: operations have its fields themselves."}))


# -- Graphs.


@export("get_default_graph")
def get_default_graph() -> Any:
    """The graph that ops are added to."""
    return _core.current_graph()


@export("reset_default_graph")
def reset_default_graph() -> None:
    """Begins a new default graph."""
    _core.reset_default_graph()


@contextlib.contextmanager
def _as_default(self: Any) -> Iterator[Any]:
    with self._scope():
        entered = len(_stand_ins())
        try:
            yield self
        finally:
            while len(_stand_ins()) > entered:
                _stand_ins().pop().__exit__(None, None, None)


def _stand_ins() -> list[Any]:
    """The scopes of graphs that stand for the default one: see stand_in()."""
    if not hasattr(_local, "stand_ins"):
        _local.stand_ins = []
    return _local.stand_ins


def stand_in(graph: Any) -> None:
    """Makes a graph the default one until the `with` of the present default graph ends."""
    scope = graph._scope()
    scope.__enter__()
    _stand_ins().append(scope)


_KEPT: set[Any] = set()


def notes(graph: Any, name: str) -> dict[Any, Any]:
    """What Python alone knows of a graph, under a name. The graph is kept: objects of Python come and go."""
    _KEPT.add(graph)
    return graph.__dict__.setdefault(name, {})


def known(graph: Any, name: str) -> dict[Any, Any]:
    """The same, to read."""
    return graph.__dict__.get(name, {})


def _python_collections(graph: Any) -> dict[Any, list[Any]]:
    return notes(graph, "_objects")


def _add_to_collection(self: Any, name: Any, value: Any) -> None:
    if isinstance(name, str) and isinstance(value, (Tensor, Operation, Variable)):
        self._add_to_collection(name, value)
    else:
        _python_collections(self).setdefault(name, []).append(value)


def _get_collection(self: Any, name: Any, scope: Any = None) -> list[Any]:
    objects = list(known(self, "_objects").get(name, []))
    return (self._get_collection(name, scope or "") if isinstance(name, str) else []) + objects


def _get_collection_ref(self: Any, name: Any) -> list[Any]:
    if isinstance(name, str) and self._get_collection(name, ""):
        return self._get_collection(name, "")
    return _python_collections(self).setdefault(name, [])


def _as_graph_element(self: Any, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
    if isinstance(obj, str):
        if ":" in obj:
            return self._tensor(obj)
        found = self._operation(obj)
        if found is None:
            raise KeyError(f"The name '{obj}' refers to an Operation not in the graph.")
        return found
    return obj


def _get_tensor_by_name(self: Any, name: str) -> Any:
    if not isinstance(name, str):
        raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
    if ":" not in name:
        raise ValueError(f"The name '{name}' looks like an (invalid) Operation name, not a Tensor.")
    return self._tensor(name)


def _get_operation_by_name(self: Any, name: str) -> Any:
    return _as_graph_element(self, name.partition(":")[0])


Graph.as_default = _as_default
Graph.add_to_collection = _add_to_collection
Graph.get_collection = _get_collection
Graph.get_collection_ref = _get_collection_ref
Graph.add_to_collections = lambda self, names, value: [self.add_to_collection(n, value) for n in names]
Graph.get_all_collection_keys = lambda self: [
    k for k in vars(GraphKeys).values() if isinstance(k, str) and self.get_collection(k)
]
Graph.as_graph_element = _as_graph_element
Graph.get_tensor_by_name = _get_tensor_by_name
Graph.get_operation_by_name = _get_operation_by_name
Graph.finalize = lambda self: None
Graph.finalized = False
Graph.name_scope = lambda self, name: name_scope(name)
Graph.control_dependencies = lambda self, inputs: control_dependencies(inputs)
Graph.device = lambda self, device_name_or_function: device(device_name_or_function)
Graph.__enter__ = lambda self: (_graph_scopes().append(self._scope()), _graph_scopes()[-1].__enter__(), self)[-1]
Graph.__exit__ = lambda self, *error: _graph_scopes().pop().__exit__(*error)


def _graph_scopes() -> list[Any]:
    if not hasattr(_local, "graphs"):
        _local.graphs = []
    return _local.graphs


@export("GraphKeys")
class GraphKeys:
    """The names of collections."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAIN_OP = "train_op"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = "variables"


@export("add_to_collection")
def add_to_collection(name: Any, value: Any) -> None:
    get_default_graph().add_to_collection(name, value)


@export("add_to_collections")
def add_to_collections(names: Iterable[Any], value: Any) -> None:
    get_default_graph().add_to_collections(names, value)


@export("get_collection")
def get_collection(key: Any, scope: Any = None) -> list[Any]:
    """What stands in a collection, of a scope where one is given."""
    return get_default_graph().get_collection(key, scope)


@export("get_collection_ref")
def get_collection_ref(key: Any) -> list[Any]:
    return get_default_graph().get_collection_ref(key)


@export("set_random_seed", "random.set_random_seed")
def set_random_seed(seed: Any) -> None:
    """The seed of the current graph."""
    get_default_graph().seed = int(seed)


# -- Scopes.


@export("name_scope")
class name_scope:
    """`with tf.name_scope(name):` the names of ops begin with it."""

    def __init__(self, name: Any = None, default_name: Any = None, values: Any = None) -> None:
        self._name = default_name if name is None else name
        self._scopes: list[Any] = []

    @property
    def name(self) -> Any:
        return self._name

    def __enter__(self) -> str:
        scope = _core.name_scope("" if self._name is None else self._name)
        scope.__enter__()
        self._scopes.append(scope)
        entered = _core.current_name_scope()
        return entered + "/" if entered else ""

    def __exit__(self, *error: Any) -> None:
        self._scopes.pop().__exit__(*error)


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Ops that are built within run after these."""
    inputs = None if control_inputs is None else [c() if callable(c) else c for c in control_inputs]
    with _core.control_dependencies(inputs):
        yield


@contextlib.contextmanager
def device(device_name_or_function: Any) -> Iterator[None]:
    """Devices are chosen by the session's target; names are accepted."""
    yield


@contextlib.contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    yield


export("control_dependencies")(control_dependencies)
export("device")(device)
export("colocate_with")(colocate_with)


# -- Constants and placeholders.


@export("constant")
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False) -> Any:
    """A tensor with the value of an array, a list or a number."""
    return _core.constant(value, dtype, None if shape is None else TensorShape(shape).as_list(), name or "Const")


@export("placeholder")
def placeholder(dtype: Any, shape: Any = None, name: Any = None) -> Any:
    """A tensor that runs are fed. Without a shape each run tells its axes; until then it looks like a scalar."""
    if shape is None or TensorShape(shape).ndims is None:
        return core_function("unranked_placeholder")(dtype=dtype, name=name)
    return core_function("placeholder")(dtype=dtype, shape=TensorShape(shape).as_list(), name=name)


@export("placeholder_with_default")
def placeholder_with_default(input: Any, shape: Any, name: Any = None) -> Any:
    """`input`, unless a run feeds another value."""
    return core_function("placeholder_with_default")(input=input, shape=TensorShape(shape).as_list(), name=name)


@export("convert_to_tensor")
def convert_to_tensor(
    value: Any, dtype: Any = None, name: Any = None, preferred_dtype: Any = None, dtype_hint: Any = None
) -> Any:
    """The value as a tensor."""
    made = _core.convert_to_tensor(value, dtype if dtype is not None else None)
    if dtype is not None and made.dtype != dtype:
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {made.dtype.name}: "
            f"{made!r}"
        )
    return made


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: Any) -> bool:
    return isinstance(x, (Tensor, Variable))


@export("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = None,
) -> list[Any]:
    """d(sum of ys)/dx for each x; None for an x that no y depends on."""

    def as_list(value: Any) -> list[Any]:
        return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]

    return _core.gradients(as_list(ys), as_list(xs), as_list(grad_ys), as_list(stop_gradients))


@export("AggregationMethod")
class AggregationMethod:
    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@export("group")
def group(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that is done when all are."""
    return _core.group(_flat(inputs), kwargs.get("name") or "group_deps")


def _flat(values: Any) -> list[Any]:
    return [leaf for v in values for leaf in (_flat(v) if isinstance(v, (list, tuple)) else [v]) if leaf is not None]


@export("tuple")
def tuple_(tensors: Any, name: Any = None, control_inputs: Any = None) -> list[Any]:
    """The tensors, none of which is there before all are."""
    with control_dependencies([*[t for t in tensors if t is not None], *(control_inputs or [])]):
        return [None if t is None else op("identity", t) for t in tensors]


@export("no_op")
def no_op(name: Any = None) -> Any:
    return core_function("no_op")(name=name)


@export("get_seed", "random.get_seed")
def get_seed(op_seed: Any) -> tuple[Any, Any]:
    graph = get_default_graph()
    if graph.seed is not None:
        return graph.seed, graph.version if op_seed is None else op_seed
    return (None, None) if op_seed is None else (87654321, op_seed)


@export("make_ndarray")
def make_ndarray(tensor: Any) -> Any:
    return np.asarray(tensor)


__all__ = ["DType", "Graph", "Operation", "Tensor", "Variable"]
