"""tf.contrib.framework.arg_scope: arguments that functions take by default within a `with`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ._registry import export

F = TypeVar("F", bound=Callable[..., Any])

# Arguments by function, of the scopes that are entered: the last one counts.
_scopes: list[dict[Any, dict[str, Any]]] = [{}]


def _key(function: Any) -> Any:
    return getattr(function, "_key_op", function)


@export("contrib.framework.add_arg_scope")
def add_arg_scope(func: F) -> F:
    """The function, which takes arguments of the scopes around it."""

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**_scopes[-1].get(scoped, {}), **kwargs})

    scoped._key_op = scoped  # type: ignore[attr-defined]
    return scoped  # type: ignore[return-value]


@export("contrib.framework.arg_scope")
@contextlib.contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Any]:
    """`with arg_scope([f, g], x=1):` gives f and g the argument; a scope that `as` named is entered again."""
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        inner = dict(list_ops_or_scope)
    else:
        inner = dict(_scopes[-1])
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                raise ValueError(f"{function} is not decorated with @add_arg_scope")
            inner[_key(function)] = {**inner.get(_key(function), {}), **kwargs}
    _scopes.append(inner)
    try:
        yield inner
    finally:
        _scopes.pop()


@export("contrib.framework.has_arg_scope")
def has_arg_scope(func: Any) -> bool:
    return hasattr(func, "_key_op")


@export("contrib.framework.arg_scoped_arguments")
def arg_scoped_arguments(func: Any) -> dict[str, Any]:
    """The arguments that the scopes give the function."""
    return dict(_scopes[-1].get(_key(func), {}))
