"""tf.keras.backend: Keras's names for functions of tensors, and its settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from systole_tpu import _core

from ._framework import get_default_graph, op
from ._keras_layers import SOURCES
from ._keras_objects import ACTIVATIONS, LOSSES
from ._keras_symbolic import KerasTensor, symbolic
from ._registry import NAMES, export
from ._session import get_default_session

_SETTINGS = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}
_PHASE = [0]
_SESSION: list[Any] = [None]


def _export(function: Any) -> Any:
    return export(f"keras.backend.{function.__name__.rstrip('_')}")(function)


# Functions that are tf's: arguments.txt has Keras's arguments of them.
_SAME = (
    "abs", "square", "sqrt", "exp", "log", "round", "sign", "pow", "sin", "cos", "maximum", "minimum", "equal",
    "not_equal", "greater", "greater_equal", "less", "less_equal", "transpose", "reshape", "gather", "stack",
    "zeros_like", "ones_like", "identity", "stop_gradient", "squeeze", "tile", "one_hot", "shape", "cast",
)  # fmt: skip


def _same(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return NAMES[name](*args, **kwargs)

    call.__name__ = name
    return symbolic(call)


for _name in _SAME:
    export(f"keras.backend.{_name}")(_same(_name))
for _name, _function in ACTIVATIONS.items():
    export(f"keras.backend.{_name}")(_function)


def _reduction(name: str, tf: str, is_float: bool = False) -> None:
    @symbolic
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if is_float and getattr(x, "dtype", None) == "bool":
            x = op("cast", x, "float32")
        return op(tf, x, axis, keepdims)

    reduce.__name__ = name
    export(f"keras.backend.{name}")(reduce)


for _name, _tf in {"sum": "reduce_sum", "mean": "reduce_mean", "max": "reduce_max", "min": "reduce_min",
                   "prod": "reduce_prod", "any": "reduce_any", "all": "reduce_all",
                   "logsumexp": "reduce_logsumexp"}.items():  # fmt: skip
    _reduction(_name, _tf, _name == "mean")


@_export
@symbolic
def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return op("reduce_mean", op("square", x - op("reduce_mean", x, axis, True)), axis, keepdims)


@_export
@symbolic
def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return op("sqrt", var(x, axis, keepdims))


@_export
def argmax(x: Any, axis: int = -1) -> Any:
    return op("argmax", x, axis)


@_export
def argmin(x: Any, axis: int = -1) -> Any:
    return op("argmin", x, axis)


@_export
def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    return op("clip_by_value", x, min_value, max_value)


@_export
def cumsum(x: Any, axis: int = 0) -> Any:
    return op("cumsum", x, axis)


@_export
@symbolic
def dot(x: Any, y: Any) -> Any:
    """The sum over the last axis of x and the last but one of y."""
    if len(x.shape) == 2 and len(y.shape) == 2:
        return op("matmul", x, y)
    return op("tensordot", x, y, [[len(x.shape) - 1], [max(len(y.shape) - 2, 0)]])


@_export
@symbolic
def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """The sum over an axis of x and one of y, for each example."""
    a, b = (axes, axes) if isinstance(axes, int) else (axes if axes is not None else (len(x.shape) - 1, 1))
    if len(x.shape) == 2 and len(y.shape) == 2:
        return op("reduce_sum", x * y, 1, True)
    return op("matmul", x, y, transpose_a=a == 1, transpose_b=b == 2)


@_export
def expand_dims(x: Any, axis: int = -1) -> Any:
    return op("expand_dims", x, axis)


@_export
@symbolic
def concatenate(tensors: Any, axis: int = -1) -> Any:
    return op("concat", list(tensors), axis)


@_export
@symbolic
def flatten(x: Any) -> Any:
    return op("reshape", x, [-1])


@_export
@symbolic
def batch_flatten(x: Any) -> Any:
    size = int(np.prod([int(d) for d in x.shape[1:]]))
    return op("reshape", x, [-1, size])


@_export
def permute_dimensions(x: Any, pattern: Any) -> Any:
    return op("transpose", x, list(pattern))


@_export
@symbolic
def repeat(x: Any, n: int) -> Any:
    return op("tile", op("expand_dims", x, 1), [1, n, 1])


@_export
@symbolic
def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    parts = op("unstack", x, axis=axis)
    return op("stack", [p for p in parts for _ in range(rep)], axis)


@_export
def reverse(x: Any, axes: Any) -> Any:
    return op("reverse", x, [axes] if isinstance(axes, int) else list(axes))


@_export
def bias_add(x: Any, bias: Any, data_format: Any = None) -> Any:
    return op("nn.bias_add", x, bias)


@_export
@symbolic
def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    if callable(then_expression):
        return op("cond", condition, then_expression, else_expression)
    return op("where", condition, then_expression, else_expression)


@_export
def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    chosen = x if (learning_phase() if training is None else training) else alt
    return chosen() if callable(chosen) else chosen


@_export
def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    return in_train_phase(alt, x, training)


@_export
def l2_normalize(x: Any, axis: Any = None) -> Any:
    return op("nn.l2_normalize", x, axis)


@_export
def dropout(x: Any, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    return op("nn.dropout", x, 1.0 - level, noise_shape, seed)


@_export
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """The entropy of each element."""
    if from_logits:
        return op("nn.sigmoid_cross_entropy_with_logits", labels=target, logits=output)
    return _elementwise(target, output)


@symbolic
def _elementwise(target: Any, output: Any) -> Any:
    p = op("clip_by_value", output, epsilon(), 1.0 - epsilon())
    return -(target * op("log", p + epsilon()) + (1.0 - target) * op("log", 1.0 - p + epsilon()))


def _crossentropy(name: str, target: Any, output: Any, from_logits: bool, axis: int) -> Any:
    if axis not in (-1, len(output.shape) - 1):
        raise NotImplementedError(f"tf.keras.backend.{name}: axis, got {axis}, expected the last one")
    return LOSSES[name](target, output, from_logits)


@_export
def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    return _crossentropy("categorical_crossentropy", target, output, from_logits, axis)


@_export
def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    return _crossentropy("sparse_categorical_crossentropy", target, output, from_logits, axis)


# -- Random numbers, constants, variables.


def _sizes(shape: Any) -> Any:
    return list(shape) if isinstance(shape, (list, tuple)) else shape


@_export
@symbolic
def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    return op("random_normal", _sizes(shape), mean, stddev, dtype or floatx(), seed)


@_export
@symbolic
def random_uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    return op("random_uniform", _sizes(shape), minval, maxval, dtype or floatx(), seed)


@_export
def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = None) -> Any:
    return op("constant", value, dtype or floatx(), shape)


@_export
def zeros(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    return op("zeros", _sizes(shape), dtype or floatx())


@_export
def ones(shape: Any, dtype: Any = None, name: Any = None) -> Any:
    return op("ones", _sizes(shape), dtype or floatx())


@_export
def variable(value: Any, dtype: Any = None, name: Any = None, constraint: Any = None) -> Any:
    """A weight with a value."""
    layer = NAMES["keras.layers.Layer"](name=None)
    array = np.asarray(value, dtype=dtype or floatx())
    made = layer.add_weight(name or "Variable", array.shape, str(array.dtype), "zeros")
    made._set_value(array)
    return made


@_export
def placeholder(
    shape: Any = None,
    ndim: Any = None,
    dtype: Any = None,
    sparse: bool = False,
    name: Any = None,
    ragged: bool = False,
) -> Any:
    if sparse or ragged:
        raise NotImplementedError("tf.keras.backend.placeholder: sparse and ragged tensors, expected a dense one")
    return NAMES["keras.Input"](batch_shape=shape if shape is not None else [None] * ndim, dtype=dtype, name=name)


@_export
def get_value(x: Any) -> Any:
    return x._value() if hasattr(x, "_value") else x


@_export
def set_value(x: Any, value: Any) -> None:
    x._set_value(value)


@_export
def batch_get_value(tensors: Any) -> list[Any]:
    return [get_value(t) for t in tensors]


@_export
def batch_set_value(tuples: Any) -> None:
    for weight, value in tuples:
        set_value(weight, value)


@_export
def count_params(x: Any) -> int:
    return int(np.prod([int(d) for d in x.shape]))


@_export
def int_shape(x: Any) -> tuple[Any, ...]:
    return tuple(x._dims)


@_export
def ndim(x: Any) -> int:
    return len(x._dims)


@_export
def dtype(x: Any) -> str:
    return x._dtype_name


@_export
def is_keras_tensor(x: Any) -> bool:
    return isinstance(x, KerasTensor)


@_export
@symbolic
def gradients(loss: Any, variables: Any) -> Any:
    """The gradients by the variables, which are symbolic tensors."""
    several = isinstance(variables, (list, tuple))
    return op("gradients", loss, list(variables) if several else [variables])


class _Function:
    """The values of symbolic tensors for arrays that stand for the inputs."""

    def __init__(self, inputs: Any, outputs: Any) -> None:
        # A learning phase among the inputs says how the model runs: functions are for inference.
        self._count = len(inputs)
        self._places = [i for i, t in enumerate(inputs) if isinstance(t, KerasTensor)]
        self._model = NAMES["keras.Model"]([inputs[i] for i in self._places], outputs)

    def __call__(self, values: Any) -> list[Any]:
        result = self._model.predict_on_batch([np.asarray(values[i]) for i in self._places])
        return result if isinstance(result, list) else [result]


@_export
def function(inputs: Any, outputs: Any, updates: Any = None, name: Any = None, **kwargs: Any) -> Any:
    return _Function(list(inputs), list(outputs) if isinstance(outputs, (list, tuple)) else [outputs])


# -- Settings.


@_export
def learning_phase() -> Any:
    return _PHASE[0]


@_export
def set_learning_phase(value: Any) -> None:
    _PHASE[0] = value


@_export
def clear_session() -> None:
    """Forgets the names of layers, and begins a new graph."""
    _core.keras_clear_session()
    SOURCES.clear()
    op("reset_default_graph")
    _SESSION[0] = None
    _PHASE[0] = 0


@_export
def get_session(op_input_list: Any = ()) -> Any:
    """The default session, or Keras's own of the graph."""
    session = get_default_session()
    if session is not None:
        return session
    if _SESSION[0] is None or _SESSION[0].graph is not get_default_graph():
        _SESSION[0] = NAMES["Session"]()
    return _SESSION[0]


@_export
def set_session(session: Any) -> None:
    _SESSION[0] = session


@_export
def backend() -> str:
    return "tensorflow"


@_export
def manual_variable_initialization(value: bool) -> None: ...


def _setting(name: str) -> None:
    export(f"keras.backend.{name}")(lambda: _SETTINGS[name])
    export(f"keras.backend.set_{name}")(lambda value: _SETTINGS.__setitem__(name, value))


@_export
def set_image_data_format(data_format: str) -> None:
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _SETTINGS["image_data_format"] = data_format


for _name in ("floatx", "epsilon"):
    _setting(_name)
export("keras.backend.image_data_format")(lambda: _SETTINGS["image_data_format"])
epsilon, floatx = NAMES["keras.backend.epsilon"], NAMES["keras.backend.floatx"]
export("keras.backend.image_dim_ordering")(lambda: "tf")
