"""Functions of tensors on the results of Keras's layers: each call becomes a layer of its own."""

from __future__ import annotations

import functools
from typing import Any

from systole_tpu import _core

KerasTensor = _core.KerasTensor
Weight = _core.KerasWeight


def is_symbolic(value: Any) -> bool:
    """Whether a KerasTensor is in it."""
    if isinstance(value, (list, tuple)):
        return any(is_symbolic(v) for v in value)
    if isinstance(value, dict):
        return any(is_symbolic(v) for v in value.values())
    return isinstance(value, KerasTensor)


def _collect(value: Any, found: list[Any]) -> Any:
    """The value with the places of its symbolic tensors, which go to `found`."""
    if isinstance(value, KerasTensor):
        found.append(value)
        return _Place(len(found) - 1)
    if isinstance(value, (list, tuple)):
        return type(value)(_collect(v, found) for v in value)
    if isinstance(value, dict):
        return {k: _collect(v, found) for k, v in value.items()}
    return value


class _Place:
    def __init__(self, number: int) -> None:
        self.number = number


def _fill(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, _Place):
        return tensors[value.number]
    if isinstance(value, (list, tuple)):
        return type(value)(_fill(v, tensors) for v in value)
    if isinstance(value, dict):
        return {k: _fill(v, tensors) for k, v in value.items()}
    return value


def call_as_layer(function: Any, *args: Any, **kwargs: Any) -> Any:
    """function(*args), whose arguments have symbolic tensors, as the call of a Lambda layer."""
    tensors: list[Any] = []
    places = _collect((list(args), kwargs), tensors)
    several = [False]

    def call(values: list[Any]) -> list[Any]:
        own_args, own_kwargs = _fill(places, values)
        result = function(*own_args, **own_kwargs)
        several[0] = isinstance(result, (list, tuple))
        return list(result) if several[0] else [result]

    layer = _core.keras_lambda("", call, "", None)
    results = layer.call_symbolic(tensors, None, [], None)
    return results if several[0] else results[0]


def symbolic(function: Any) -> Any:
    """The function, which also takes symbolic tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_symbolic(args) or is_symbolic(kwargs):
            return call_as_layer(function, *args, **kwargs)
        return function(*args, **kwargs)

    return call
