"""The names of the package: each module says under which of TensorFlow's names its functions are found."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

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


def assemble() -> None:
    """Puts all names into their modules."""
    for name, value in sorted(NAMES.items()):
        parent, _, last = name.rpartition(".")
        setattr(module(parent), last, value)
