"""Names that NumPy had in 2018 and has no more, for the programs that `systole run` runs."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

# NumPy's own messages about them name the newer ones.
_NEWER = {
    "float_": "float64", "complex_": "complex128", "cfloat": "complex128", "singlecomplex": "complex64",
    "Inf": "inf", "Infinity": "inf", "infty": "inf", "PINF": "inf", "NaN": "nan", "NAN": "nan",
    "string_": "bytes_", "unicode_": "str_", "bool8": "bool_", "int0": "intp", "uint0": "uintp",
    "product": "prod", "cumproduct": "cumprod", "sometrue": "any", "alltrue": "all", "round_": "round",
    "trapz": "trapezoid", "mat": "asmatrix", "rank": "ndim", "row_stack": "vstack",
}  # fmt: skip
_PYTHON = {"int": int, "float": float, "bool": bool, "complex": complex, "object": object, "str": str, "unicode": str}
_FUNCTIONS: dict[str, Any] = {
    "asscalar": lambda a: np.asarray(a).item(),
    "asfarray": lambda a, dtype=np.float64: np.asarray(a, dtype),
    "msort": lambda a: np.sort(a, axis=0),
    "alen": lambda a: len(np.atleast_1d(a)),
    "in1d": lambda ar1, ar2, **options: np.isin(np.ravel(ar1), ar2, **options),
}


def _reshape_as_it_was(reshape: Any) -> Any:
    """np.reshape, which also takes its second argument by the older name, newshape."""

    @functools.wraps(reshape)
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs:
            kwargs["shape"] = kwargs.pop("newshape")
        return reshape(a, *args, **kwargs)

    return call


def install() -> None:
    """Adds what is missing; what NumPy has stays NumPy's."""
    added = {**_PYTHON, **{old: getattr(np, new) for old, new in _NEWER.items() if hasattr(np, new)}, **_FUNCTIONS}
    added["NINF"] = -np.inf
    for name, value in added.items():
        if name not in vars(np):
            setattr(np, name, value)
    if "newshape" not in inspect.signature(np.reshape).parameters:
        np.reshape = _reshape_as_it_was(np.reshape)
