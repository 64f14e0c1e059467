"""tf.flags and tf.app where absl is installed: they are absl's, as in TensorFlow, so that programs may mix both."""

from __future__ import annotations

import functools
import importlib.util
import sys
from typing import Any

from ._registry import export

# Arguments by their names before absl.
_OLDER = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class _ParsedWhenRead:
    """absl's FLAGS, which reads the program's arguments when a flag is read first."""

    def __init__(self, flags: Any) -> None:
        object.__setattr__(self, "_wrapped", flags)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and not self._wrapped.is_parsed() and name in self._wrapped:
            self._wrapped(sys.argv)
        return getattr(self._wrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._wrapped, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._wrapped, name)

    def __dir__(self) -> list[str]:
        return self._wrapped.__dir__()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(*args, **kwargs)

    def __contains__(self, name: str) -> bool:
        return name in self._wrapped

    def __getitem__(self, name: str) -> Any:
        return self._wrapped[name]

    def __iter__(self) -> Any:
        return iter(self._wrapped)


def _definer(function: Any) -> Any:
    @functools.wraps(function)
    def define(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{_OLDER.get(key, key): value for key, value in kwargs.items()})

    return define


def _serve() -> None:
    if importlib.util.find_spec("absl") is None:
        return
    from absl import app, flags

    for name in dir(flags):
        value = getattr(flags, name)
        if name.startswith("DEFINE"):
            value = _definer(value)
        elif name == "FLAGS":
            value = _ParsedWhenRead(value)
        elif name.startswith("_") or not (callable(value) or isinstance(value, type)):
            continue
        export(f"flags.{name}", f"app.flags.{name}")(value)

    def parse(argv: Any) -> Any:
        return flags.FLAGS(argv, known_only=True)

    @export("app.run")
    def run(main: Any = None, argv: Any = None) -> None:
        """Reads the flags, calls main(argv), and ends the process."""
        app.run(main or sys.modules["__main__"].main, argv, flags_parser=parse)


_serve()
