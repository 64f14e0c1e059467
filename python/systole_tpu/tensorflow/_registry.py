"""The names of the package: each module says under which of TensorFlow's names its functions are found."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from systole_tpu import _core

T = TypeVar("T")

ROOT = "systole_tpu.tensorflow"

# By TensorFlow's name without "tf.": "nn.relu".
NAMES: dict[str, Any] = {}


def export(*names: str) -> Callable[[T], T]:
    """Decorates what `tf.<name>` is."""

    def keep(value: T) -> T:
        for name in names:
            NAMES[name] = value
        return value

    return keep


def module(name: str) -> types.ModuleType:
    """The module `tf.<name>`, which is made when it is asked for first."""
    if not name:
        return sys.modules[ROOT]
    full = f"{ROOT}.{name}"
    if full not in sys.modules:
        made = types.ModuleType(full, f"tf.{name}")
        made.__path__ = []  # a package: modules may lie within
        sys.modules[full] = made
        parent, _, last = name.rpartition(".")
        setattr(module(parent), last, made)
    return sys.modules[full]


def _document(name: str, value: Any) -> None:
    """Documents a function or class that does not do it itself: by the C++ function of its name."""
    plain = isinstance(value, (types.FunctionType, type))
    if plain and not value.__doc__ and value.__module__.startswith("systole_tpu"):
        value.__doc__ = _core.documentation(name) or f"tf.{name} of TensorFlow 1.15."


def assemble() -> None:
    """Puts all names into their modules."""
    from ._places import internal

    for name, value in sorted(NAMES.items()):
        if internal(name):
            continue
        _document(name, value)
        parent, _, last = name.rpartition(".")
        setattr(module(parent), last, value)
    # Modules under a second name.
    for parent, last, value in (("contrib", "keras", module("keras")), ("compat", "v1", module(""))):
        setattr(module(parent), last, value)
