"""Serves `tensorflow` and its kin from this package: nothing is installed, no program is edited."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from types import ModuleType
from typing import Any

_ROOT = "systole_tpu.tensorflow"
# Names of modules that programs import, and what they are here.
_SERVED = {
    "tensorflow": _ROOT,
    "tensorflow_estimator": f"{_ROOT}.estimator",
    "keras": f"{_ROOT}.keras",
}


def _ours(name: str) -> str | None:
    """The module of this package that a name stands for; None for others."""
    head, _, rest = name.partition(".")
    if head not in _SERVED:
        return None
    if not rest:
        return _SERVED[head]
    return f"{_SERVED[head]}.{rest}"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are served."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if _ours(fullname) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        importlib.import_module(_ROOT)
        wanted = _ours(spec.name) or ""
        found = sys.modules.get(wanted)
        if found is None:
            from systole_tpu.tensorflow import _places

            found = _places.place(wanted.removeprefix(_ROOT + "."))
        if found is None:
            raise ModuleNotFoundError(
                f"No module named '{spec.name}': this package has no such part of TensorFlow 1.15 (docs/python.md)",
                name=spec.name,
            )
        return found

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    """Begins to serve; once is enough."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
