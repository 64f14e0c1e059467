"""Python's half of conversions between NumPy and tensors; called by the extension module."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._dtypes import as_dtype  # noqa: F401: the module calls it
from ._shapes import TensorShape


class Spec:
    """The type of a leaf of a nest: what data sets are told of their elements."""

    def __init__(self, dtype: Any, shape: Any) -> None:
        self.dtype = as_dtype(dtype)
        self.shape = TensorShape(shape)

    @property
    def _spec(self) -> tuple[Any, list[int | None]]:
        return self.dtype, self.shape.as_list()


def _numpy_dtype(name: str | None) -> Any:
    if name is None:
        return None
    return np.object_ if name == "string" else np.float32 if name == "bfloat16" else np.dtype(name)


def plain_array(value: Any, dtype: str | None) -> tuple[Any, str]:
    """An array that lies in memory row by row, and its kind: "number", "string" or "bfloat16"."""
    if isinstance(value, (str, bytes)):
        return np.array(value, dtype=object), "string"
    array = np.asarray(value, dtype=None if isinstance(value, np.ndarray) else _numpy_dtype(dtype))
    if array.dtype.kind in "SUO":
        if array.dtype.kind == "O" and any(not isinstance(e, (str, bytes)) for e in array.ravel().tolist()):
            raise ValueError(
                f"Cannot convert {type(value).__name__} with elements of several types or sizes to a tensor"
            )
        return array, "string"
    if array.dtype.name == "bfloat16":
        return np.ascontiguousarray(array).view(np.uint16), "bfloat16"
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)) and not _has_arrays(value):
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        elif array.dtype == np.int64 and (array.size == 0 or (-(2**31) <= array.min() and array.max() < 2**31)):
            array = array.astype(np.int32)
    return np.asarray(array, order="C"), "number"


def _has_arrays(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_arrays(element) for element in value)
    return isinstance(value, np.ndarray)


def string_array(elements: list[bytes], shape: tuple[int, ...]) -> Any:
    if not shape:
        return elements[0]
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array.reshape(shape)


def from_memory(memory: Any, scalar: bool, dtype: str | None) -> Any:
    """The NumPy array over the memory of a tensor; a NumPy scalar for a scalar."""
    array = np.asarray(memory)
    if dtype == "bfloat16":
        import ml_dtypes

        array = array.view(ml_dtypes.bfloat16)
    return array[()] if scalar else array


def pack_tensors(value: Any) -> Any:
    """A list that has tensors in it as one tensor; None for others."""
    from ._framework import Tensor
    from ._registry import NAMES

    def symbolic(element: Any) -> bool:
        if isinstance(element, (list, tuple)):
            return any(symbolic(e) for e in element)
        return isinstance(element, Tensor) or hasattr(element, "_core_name")

    return NAMES["stack"](list(value)) if symbolic(value) else None


def call_initializer(initializer: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """The value of an initializer that is a function or a class of Python."""
    made = initializer() if isinstance(initializer, type) else initializer
    if hasattr(made, "_core"):
        return made._core._make(shape, dtype)
    try:
        return made(list(shape), dtype=as_dtype(dtype), partition_info=None)
    except TypeError as error:
        if "partition_info" not in str(error):
            raise
        return made(list(shape), dtype=as_dtype(dtype))
