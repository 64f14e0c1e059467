"""tf.DType and the dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._registry import export

# TensorFlow's numbers of dtypes, which files and protos have.
_ENUMS = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8,
    "int64": 9, "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "resource": 20,
    "variant": 21, "uint32": 22, "uint64": 23,
}  # fmt: skip
_ALIASES = {"float": "float32", "double": "float64", "half": "float16", "str": "string", "object": "string"}


@export("DType", "dtypes.DType")
class DType:
    """The type of a tensor's elements."""

    __slots__ = ("name",)

    def __init__(self, type_enum: Any) -> None:
        """Of a name, or of TensorFlow's number."""
        self.name: str = type_enum if isinstance(type_enum, str) else as_dtype(type_enum).name

    @property
    def as_numpy_dtype(self) -> Any:
        if self.name == "string":
            return np.object_
        if self.name == "bfloat16":
            import ml_dtypes

            return ml_dtypes.bfloat16
        return np.dtype(self.name).type

    @property
    def as_datatype_enum(self) -> int:
        return _ENUMS[self.name]

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def real_dtype(self) -> DType:
        return as_dtype({"complex64": "float32", "complex128": "float64"}.get(self.name, self.name))

    @property
    def is_floating(self) -> bool:
        return self.name in ("float16", "bfloat16", "float32", "float64")

    @property
    def is_complex(self) -> bool:
        return self.name.startswith("complex")

    @property
    def is_integer(self) -> bool:
        return self.name.startswith(("int", "uint"))

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def is_unsigned(self) -> bool:
        return self.name.startswith("uint")

    @property
    def is_numpy_compatible(self) -> bool:
        return self.name not in ("resource", "variant")

    @property
    def size(self) -> int:
        return 2 if self.name == "bfloat16" else np.dtype(self.name).itemsize

    @property
    def min(self) -> Any:
        return np.finfo(self.name).min if self.is_floating else np.iinfo(self.name).min

    @property
    def max(self) -> Any:
        return np.finfo(self.name).max if self.is_floating else np.iinfo(self.name).max

    def is_compatible_with(self, other: Any) -> bool:
        return self == as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if other is None:
            return False
        try:
            return self.name == as_dtype(other).name
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"


_BY_NAME = {name: DType(name) for name in _ENUMS}
_BY_ENUM = {number: _BY_NAME[name] for name, number in _ENUMS.items()}
for _name, _dtype in _BY_NAME.items():
    export(_name, f"dtypes.{_name}")(_dtype)
export("double")(_BY_NAME["float64"])
export("half")(_BY_NAME["float16"])


@export("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value: Any) -> DType:
    """The dtype that a DType, a name, a number of TensorFlow's or a NumPy dtype stands for."""
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str):
        name = _ALIASES.get(type_value, type_value).removesuffix("_ref")
        if name in _BY_NAME:
            return _BY_NAME[name]
    elif isinstance(type_value, int) and type_value in _BY_ENUM:
        return _BY_ENUM[type_value]
    try:
        dtype = np.dtype(type_value)
    except TypeError:
        dtype = None
    if dtype is not None:
        if dtype.kind in "SUO":
            return _BY_NAME["string"]
        if dtype.name in _BY_NAME:
            return _BY_NAME[dtype.name]
    raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
