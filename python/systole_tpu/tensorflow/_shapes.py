"""tf.TensorShape and tf.Dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._registry import export


@export("Dimension")
class Dimension:
    """The size of an axis; `value` is None where it is not known."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, Dimension) else None if value is None else int(value)
        if self.value is not None and self.value < 0:
            raise ValueError(f"Dimension {self.value} must be >= 0")

    def _apply(self, other: Any, f: Any) -> Dimension:
        other = as_dimension(other)
        if self.value is None or other.value is None:
            return Dimension(None)
        return Dimension(f(self.value, other.value))

    def __add__(self, other: Any) -> Dimension:
        return self._apply(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Dimension:
        return self._apply(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Dimension:
        return self._apply(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> Dimension:
        return self._apply(other, lambda a, b: a // b)

    def __mod__(self, other: Any) -> Dimension:
        return self._apply(other, lambda a, b: a % b)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Dimension:
        return as_dimension(other) - self

    def __truediv__(self, other: Any) -> Dimension:
        return self // other

    def __eq__(self, other: object) -> Any:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self.value is None or other.value is None:
            return None
        return self.value == other.value

    def __lt__(self, other: Any) -> Any:
        return self.value < as_dimension(other).value

    def __gt__(self, other: Any) -> Any:
        return self.value > as_dimension(other).value

    def __le__(self, other: Any) -> Any:
        return self.value <= as_dimension(other).value

    def __ge__(self, other: Any) -> Any:
        return self.value >= as_dimension(other).value

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        if self.value is None:
            raise TypeError("an unknown Dimension has no value")
        return self.value

    def __index__(self) -> int:
        return self.__int__()

    def merge_with(self, other: Any) -> Dimension:
        other = as_dimension(other)
        if self.value is not None and other.value is not None and self.value != other.value:
            raise ValueError(f"Dimensions {self} and {other} are not compatible")
        return self if self.value is not None else other

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


def as_dimension(value: Any) -> Dimension:
    return value if isinstance(value, Dimension) else Dimension(value)


@export("TensorShape")
class TensorShape:
    """The sizes of the axes of a tensor; `TensorShape(None)` has an unknown number of them."""

    __slots__ = ("_dims",)

    def __init__(self, dims: Any) -> None:
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, (int, Dimension)):
            self._dims = [as_dimension(dims)]
        else:
            self._dims = [Dimension(None) if d == -1 else as_dimension(d) for d in dims]

    @property
    def dims(self) -> list[Dimension] | None:
        return self._dims

    @property
    def ndims(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def _known(self) -> list[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return self._dims

    def __len__(self) -> int:
        return len(self._known())

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self._known())

    def __getitem__(self, key: Any) -> Any:
        if self._dims is None:
            return TensorShape(None) if isinstance(key, slice) else Dimension(None)
        return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]

    def as_list(self) -> list[int | None]:
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return [d.value for d in self._dims]

    def num_elements(self) -> int | None:
        if not self.is_fully_defined():
            return None
        total = 1
        for dim in self._known():
            total *= int(dim)
        return total

    def is_fully_defined(self) -> bool:
        return self._dims is not None and all(d.value is not None for d in self._dims)

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a.value is None or b.value is None or a.value == b.value
            for a, b in zip(self._dims, other._dims, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_has_rank(self, rank: int) -> None:
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        self.assert_has_rank(rank)
        return self if self._dims is not None else TensorShape([None] * rank)

    def merge_with(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        self.assert_is_compatible_with(other)
        return TensorShape([a.merge_with(b) for a, b in zip(self._dims, other._dims, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __eq__(self, other: object) -> bool:
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return False
        if self._dims is None or other._dims is None:
            return self._dims is other._dims
        return self.as_list() == other.as_list()

    def __hash__(self) -> int:
        return hash(None if self._dims is None else tuple(self.as_list()))

    def __repr__(self) -> str:
        return f"TensorShape({self._dims})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        if len(self._dims) == 1:
            return f"({self._dims[0]},)"
        return "(" + ", ".join(str(d) for d in self._dims) + ")"


def as_shape(value: Any) -> TensorShape:
    return value if isinstance(value, TensorShape) else TensorShape(value)
