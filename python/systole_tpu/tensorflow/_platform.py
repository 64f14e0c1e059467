"""tf.logging, tf.flags, tf.app, tf.gfile, tf.test: plain Python."""

from __future__ import annotations

import argparse
import functools
import logging as _logging
import sys
import time
import unittest
from typing import Any

from ._arguments import taking
from ._registry import export

# -- Logging.

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
for _name, _level in {"DEBUG": DEBUG, "INFO": INFO, "WARN": WARN, "ERROR": ERROR, "FATAL": FATAL}.items():
    export(f"logging.{_name}")(_level)

_logger = _logging.getLogger("tensorflow")
_logger.setLevel(WARN)
_logger.propagate = False
if not _logger.handlers:
    _handler = _logging.StreamHandler(sys.stderr)
    _handler.setFormatter(_logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
    _logger.addHandler(_handler)


@export("logging.get_verbosity")
def get_verbosity() -> int:
    return _logger.getEffectiveLevel()


@export("logging.set_verbosity")
def set_verbosity(v: Any) -> None:
    _logger.setLevel(getattr(_logging, v) if isinstance(v, str) else v)


@export("logging.log")
def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    _logger.log(level, msg, *args, **kwargs)


for _name, _function in {
    "debug": _logger.debug,
    "info": _logger.info,
    "warn": _logger.warning,
    "warning": _logger.warning,
    "error": _logger.error,
    "fatal": _logger.critical,
}.items():
    export(f"logging.{_name}")(_function)


@export("logging.log_first_n")
def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    count = _counts.get(str(msg), 0)
    _counts[str(msg)] = count + 1
    if count < n:
        log(level, msg, *args)


_counts: dict[str, int] = {}
export("logging.flush")(lambda: [h.flush() for h in _logger.handlers])

# -- Flags.


class _FlagValues:
    """tf.flags.FLAGS: the flags that the program defines, read from its arguments at their first use."""

    def __init__(self) -> None:
        object.__setattr__(self, "_parser", argparse.ArgumentParser(allow_abbrev=False))
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_given", None)
        object.__setattr__(self, "_required", set())

    def _define(self, name: str, default: Any, convert: Any, help_text: Any) -> None:
        if convert is bool:
            self._parser.add_argument(
                f"--{name}", nargs="?", const=True, default=default, type=_boolean, help=help_text
            )
            self._parser.add_argument(f"--no{name}", dest=name, action="store_false", default=argparse.SUPPRESS)
        else:
            self._parser.add_argument(f"--{name}", default=default, type=convert, help=help_text)
        object.__setattr__(self, "_given", None)

    def _parse(self, args: Any = None) -> list[str]:
        # `-name` is `--name`.
        words = [
            f"-{w}" if w.startswith("-") and not w.startswith("--") and len(w) > 2 else w
            for w in (sys.argv[1:] if args is None else args)
        ]
        known, rest = self._parser.parse_known_args(words)
        object.__setattr__(self, "_given", vars(known))
        for name in self._required:
            if self._values.get(name, self._given.get(name)) is None:
                raise SystemExit(f"Flag --{name} must have a value other than None.")
        return rest

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._values:
            return self._values[name]
        if self._given is None:
            self._parse()
        if name not in self._given:
            raise AttributeError(f"Unknown command line flag '{name}'")
        return self._given[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __call__(self, argv: Any, known_only: bool = False) -> list[str]:
        return [argv[0], *self._parse(argv[1:])]

    def __contains__(self, name: str) -> bool:
        return any(a.dest == name for a in self._parser._actions)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def flag_values_dict(self) -> dict[str, Any]:
        if self._given is None:
            self._parse()
        return {**self._given, **self._values}

    def mark_as_parsed(self) -> None:
        self._parse([])


def _boolean(text: str) -> bool:
    lowered = str(text).lower()
    if lowered in ("true", "t", "1", "yes", "y"):
        return True
    if lowered in ("false", "f", "0", "no", "n"):
        return False
    raise argparse.ArgumentTypeError(f"got '{text}', expected true or false")


FLAGS = _FlagValues()
export("flags.FLAGS", "app.flags.FLAGS")(FLAGS)


def _definer(kind: str, convert: Any) -> Any:
    def define(name: str, default: Any, help: Any = "", required: bool = False) -> None:
        FLAGS._define(name, default, convert, (help or "").replace("%", "%%"))
        if required:
            FLAGS._required.add(name)

    return _older_names(taking(f"flags.DEFINE_{kind}", _OF_FLAGS)(define))


def _older_names(define: Any) -> Any:
    """The function of a flag, which also takes the names that its arguments had before TensorFlow 1.5."""

    @functools.wraps(define)
    def call(*args: Any, **kwargs: Any) -> None:
        for older, name in (("flag_name", "name"), ("default_value", "default"), ("docstring", "help")):
            if older in kwargs:
                kwargs[name] = kwargs.pop(older)
        define(*args, **kwargs)

    return call


# What says where a flag stands; there is one list of flags.
_OF_FLAGS = ["flag_values", "module_name", "lower_bound", "upper_bound"]


@_older_names
@taking("flags.DEFINE_enum", _OF_FLAGS)
def _enum(name: str, default: Any, enum_values: Any, help: Any = "", required: bool = False) -> None:
    FLAGS._parser.add_argument(f"--{name}", default=default, choices=list(enum_values), help=help)
    if required:
        FLAGS._required.add(name)


for _kind, _convert in {
    "string": str,
    "integer": int,
    "float": float,
    "bool": bool,
    "boolean": bool,
    "list": lambda text: text.split(","),
    "multi_integer": lambda text: [int(t) for t in text.split(",")],
}.items():
    export(f"flags.DEFINE_{_kind}", f"app.flags.DEFINE_{_kind}")(_definer(_kind, _convert))
export("flags.DEFINE_enum", "app.flags.DEFINE_enum")(_enum)


@export("flags.mark_flag_as_required", "app.flags.mark_flag_as_required")
def mark_flag_as_required(flag_name: str, flag_values: Any = None) -> None:
    FLAGS._required.add(flag_name)


@export("flags.mark_flags_as_required")
def mark_flags_as_required(flag_names: Any, flag_values: Any = None) -> None:
    FLAGS._required.update(flag_names)


@export("app.run")
def run(main: Any = None, argv: Any = None) -> None:
    """Reads the flags, calls main(argv), and ends the process."""
    words = sys.argv if argv is None else argv
    rest = FLAGS(words)
    sys.exit((main or sys.modules["__main__"].main)(rest))


# -- Tests.


@export("test.TestCase")
class TestCase(unittest.TestCase):
    """unittest's, with a session and comparisons of arrays."""

    def setUp(self) -> None:
        from ._framework import reset_default_graph

        reset_default_graph()

    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Any:
        from ._session import Session

        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")
        return Session(graph=graph, config=config)

    session = cached_session = test_session

    def get_temp_dir(self) -> str:
        return get_temp_dir()

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        import numpy as np

        np.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or "")

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        import numpy as np

        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: Any = None) -> None:
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)


@export("test.Benchmark")
class Benchmark:
    """Measurements of a program's own; the names of what they report are kept."""

    def report_benchmark(self, **kwargs: Any) -> None:
        log(INFO, "%s", kwargs)


class _Mock:
    """unittest.mock, which is imported when it is used."""

    def __getattr__(self, name: str) -> Any:
        from unittest import mock

        return getattr(mock, name)


export("test.mock")(_Mock())


@export("test.get_temp_dir")
def get_temp_dir() -> str:
    import tempfile

    return tempfile.mkdtemp()


export("test.main")(lambda argv=None: unittest.main(argv=argv))
export("test.is_gpu_available")(lambda cuda_only=False, min_cuda_compute_capability=None: False)
export("test.is_built_with_cuda")(lambda: False)
export("compat.as_text", "compat.as_str")(
    lambda b, encoding="utf-8": b.decode(encoding) if isinstance(b, bytes) else str(b)
)
export("compat.as_bytes")(lambda t, encoding="utf-8": t.encode(encoding) if isinstance(t, str) else bytes(t))
export("compat.as_str_any")(lambda v: v.decode() if isinstance(v, bytes) else str(v))
export("timestamp")(lambda name=None: time.time())


@export("disable_eager_execution", "disable_v2_behavior", "enable_resource_variables")
def disable_eager_execution() -> None:
    """Graphs are what there is."""
