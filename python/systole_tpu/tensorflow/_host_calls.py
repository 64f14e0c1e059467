"""host_call of a TPUEstimatorSpec: a function of tensors that the host runs after each step."""

from __future__ import annotations

from typing import Any

from ._control import flatten, pack_like
from ._framework import Graph
from ._registry import NAMES
from ._session import Session


class HostCall:
    """Builds what the function makes once, in a graph of its own, and runs it on the values of each step."""

    def __init__(self, function: Any, structure: Any) -> None:
        self._function, self._structure = function, structure
        self._session: Any = None

    def _build(self, values: list[Any]) -> None:
        self._graph = Graph()
        with self._graph.as_default():
            self._inputs = [NAMES["placeholder"](v.dtype, [None, *v.shape[1:]] if v.shape else []) for v in values]
            packed = pack_like(self._structure, self._inputs)
            made = self._function(**packed) if isinstance(packed, dict) else self._function(*packed)
            self._targets = [t for t in flatten(made) if t is not None]
            self._session = Session(graph=self._graph)
            self._session.run(NAMES["global_variables_initializer"]())

    def __call__(self, values: list[Any]) -> None:
        if self._session is None:
            self._build(values)
        if self._targets:
            self._session.run(self._targets, dict(zip(self._inputs, values, strict=True)))
