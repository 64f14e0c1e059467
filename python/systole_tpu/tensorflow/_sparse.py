"""Sparse tensors as far as programs make dense ones of them."""

from __future__ import annotations

import collections
from typing import Any

from ._framework import Tensor, op
from ._registry import NAMES, export

SparseTensorValue = export("SparseTensorValue")(
    collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
)


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor:
    """Values at some places of a tensor that is empty elsewhere.

    One that a record's feature of variable length gave is kept as the dense tensor with its lengths.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices, self._values, self._shape = (
            v if isinstance(v, Tensor) else NAMES["constant"](v, d)
            for v, d in ((indices, "int64"), (values, None), (dense_shape, "int64"))
        )
        self._dense: Any = None

    @classmethod
    def of_vector(cls, dense: Any) -> SparseTensor:
        """With all elements of a vector."""
        made = object.__new__(cls)
        made._dense = made._values = dense
        count = op("cast", op("size", dense), "int64")
        made._indices = op("expand_dims", op("range", count), 1)
        made._shape = op("expand_dims", count, 0)
        return made

    indices = property(lambda self: self._indices)
    values = property(lambda self: self._values)
    dense_shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._values.dtype)
    graph = property(lambda self: self._values.graph)
    op = property(lambda self: self._values.op)

    @property
    def shape(self) -> Any:
        return self._dense.shape if self._dense is not None else NAMES["TensorShape"](None)

    get_shape = shape.fget

    def _as_graph_element(self) -> Any:
        return SparseTensorValue(self.indices, self.values, self.dense_shape)

    def dense(self, default_value: Any) -> Any:
        if self._dense is not None:
            return self._dense
        return sparse_to_dense(self.indices, self.dense_shape, self.values, default_value)


@export("sparse_tensor_to_dense", "sparse.to_dense")
def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: Any = None
) -> Any:
    """The dense tensor, with a default where there is no value."""
    return sp_input.dense(default_value)


@export("sparse_to_dense")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: Any = None,
) -> Any:
    """Values at places [n, axes] of a tensor, each of which occurs once; a default elsewhere."""
    values = NAMES["convert_to_tensor"](sparse_values)
    indices = NAMES["convert_to_tensor"](sparse_indices)
    if len(indices.shape) < 2:
        indices = op("reshape", indices, [-1, 1])
    updates = values if len(values.shape) else op("fill", [indices.shape[0].value], values)
    dense = op("scatter_nd", indices, updates, output_shape)
    if not default_value:
        return dense
    there = op("scatter_nd", indices, op("ones_like", updates), output_shape)
    return op("where_v2", op("equal", there, 0), op("cast", op("constant", default_value), dense.dtype), dense)
