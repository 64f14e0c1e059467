"""Functions of tf.*, tf.nn and tf.image that are made of other functions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from systole_tpu import _core

from ._framework import op
from ._functions import core_function
from ._registry import NAMES, export
from ._values import plain_array

export("newaxis")(None)


@export("image.ResizeMethod")
class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = 0, 1, 2, 3


@export("decode_csv", "io.decode_csv")
def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: Any = None,
    na_value: str = "",
    select_cols: Any = None,
) -> list[Any]:
    """The fields of lines, a tensor a column; `record_defaults` has a value or an empty one of each column's dtype."""
    usual = []
    for default in record_defaults:
        value = default.as_numpy_dtype if hasattr(default, "as_numpy_dtype") else default
        if isinstance(value, type):  # the column is required
            usual.append(np.zeros([0], value))
            continue
        if hasattr(value, "_dims"):
            value = value.op.get_attr("value")
        array, _ = plain_array(value, None)
        usual.append(array.reshape(-1))
    return _core.decode_csv(records, usual, field_delim, use_quote_delim, na_value, list(select_cols or []))


@export("strided_slice")
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: Any = None,
) -> Any:
    """A part from `begin` to `end`, as x[begin:end:strides] for each axis."""
    masks = {
        "begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask,
    }  # fmt: skip
    if any(hasattr(p, "_dims") for p in (begin, end, strides)):
        raise NotImplementedError("tf.strided_slice: places that are tensors, expected lists of them")
    places = [begin, end, [1] * len(begin) if strides is None else strides]
    if not any(_symbolic(p) for p in places):
        lists = [[int(i) for i in p] for p in places]
        return core_function("strided_slice")(
            input_=input_, begin=lists[0], end=lists[1], strides=lists[2], name=name, **masks
        )
    if any(masks.values()):
        raise NotImplementedError("tf.strided_slice: masks with positions that are tensors, expected none")
    return input_[tuple(slice(*place) for place in zip(*places, strict=True))]


@export("contrib.util.constant_value", "get_static_value")
def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a constant; None for other tensors."""
    if not hasattr(tensor, "_dims"):
        return np.asarray(tensor)
    return tensor.op.get_attr("value") if tensor.op.type == "Const" else None


def _symbolic(value: Any) -> bool:
    return hasattr(value, "_dims") or any(hasattr(v, "_dims") for v in value)


@export("parallel_stack")
def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    return op("stack", values, name=name)


@export("load_op_library", "load_library")
def load_op_library(library_filename: str) -> Any:
    """Ops of TensorFlow's own libraries cannot be loaded."""
    raise NAMES["errors.NotFoundError"](
        None, None, f"{os.fspath(library_filename)}: a library of TensorFlow's ops, which this package cannot load"
    )


# -- Moments.


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keep_dims: Any = None, name: Any = None, keepdims: Any = None
) -> tuple[Any, Any, Any, Any]:
    """(number of elements, their sum, the sum of their squares, the shift that both are less)."""
    keep = bool(keep_dims if keepdims is None else keepdims)
    axes = [axes] if isinstance(axes, int) else list(axes)
    sizes = op("gather", op("shape", x), axes)
    count = op("cast", op("reduce_prod", sizes), x.dtype)
    moved = x if shift is None else x - shift
    square = op("square", x) if shift is None else op("squared_difference", x, shift)
    return count, op("reduce_sum", moved, axes, keepdims=keep), op("reduce_sum", square, axes, keepdims=keep), shift


@export("nn.normalize_moments")
def normalize_moments(counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: Any = None) -> tuple[Any, Any]:
    """(mean, variance) of sufficient statistics."""
    divisor = op("reciprocal", counts)
    moved = mean_ss * divisor
    mean = moved if shift is None else moved + shift
    return mean, variance_ss * divisor - op("square", moved)


@export("nn.weighted_moments")
def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, name: Any = None, keep_dims: Any = None, keepdims: Any = None
) -> tuple[Any, Any]:
    """(mean, variance), where an element counts as its weight says."""
    keep = bool(keep_dims if keepdims is None else keepdims)
    weights = op("ones_like", x) * op("cast", frequency_weights, x.dtype)
    total = op("reduce_sum", weights, axes, keepdims=True)
    mean = op("reduce_sum", weights * x, axes, keepdims=True) / total
    variance = op("reduce_sum", weights * op("squared_difference", x, mean), axes, keepdims=True) / total
    return (mean, variance) if keep else (op("squeeze", mean, axes), op("squeeze", variance, axes))


# -- Tables of words.


class _Table:
    """A table of C++: lookup(keys) and size()."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self.init = self.initializer = core.initializer

    def lookup(self, keys: Any, name: Any = None) -> Any:
        return self._core.lookup(keys)

    def size(self, name: Any = None) -> Any:
        return self._core.size()


@export("contrib.lookup.index_table_from_tensor")
def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = None,
    dtype: Any = "string",
    name: Any = None,
) -> _Table:
    """Words to their numbers."""
    return _Table(_core.index_table(list(mapping), "", int(num_oov_buckets), int(default_value), 0))


@export("contrib.lookup.index_table_from_file")
def index_table_from_file(
    vocabulary_file: Any,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: int = -1,
    hasher_spec: Any = None,
    key_dtype: Any = "string",
    name: Any = None,
    **kwargs: Any,
) -> _Table:
    """The words of a file, a line each, to the numbers of their lines."""
    file = os.fspath(vocabulary_file)
    return _Table(_core.index_table(None, file, int(num_oov_buckets), int(default_value), int(vocab_size or 0)))


@export("contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(mapping: Any, default_value: str = "UNK", name: Any = None) -> _Table:
    """Numbers to words."""
    return _Table(_core.string_table(list(mapping), "", default_value, 0))


@export("contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: Any = None, default_value: str = "UNK", name: Any = None, **kwargs: Any
) -> _Table:
    return _Table(_core.string_table(None, os.fspath(vocabulary_file), default_value, int(vocab_size or 0)))


@export("tables_initializer", "initializers.tables_initializer", "initialize_all_tables")
def tables_initializer(name: str = "init_all_tables") -> Any:
    """Reads all tables of the graph."""
    return _core.tables_initializer()
