"""Calls every public function of tf.* with random arguments: each call returns or raises an exception.

usage: fuzz_tensorflow.py SEED CALLS      CALLS of each function. Prints the number of functions.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import random
import resource
import sys
import tempfile
from typing import Any

import numpy as np
import systole_tpu.tensorflow as tf

# What waits, ends the process, replaces its settings, or removes files.
_LEFT_OUT = (
    "app.", "compat.", "gfile.", "io.gfile.", "test.", "flags.", "logging.", "estimator.train_and_evaluate",
    "train.Server", "reset_default_graph", "contrib.tpu.initialize_system", "print", "keras.utils.get_file",
    "keras.datasets.",
)  # fmt: skip


def functions(module: Any, prefix: str, seen: set[int]) -> dict[str, Any]:
    """{name: function} of a module and those below."""
    found: dict[str, Any] = {}
    for name, value in sorted(vars(module).items()):
        full = prefix + name
        if name.startswith("_") or full.startswith(_LEFT_OUT) or id(value) in seen:
            continue
        if inspect.ismodule(value):
            if value.__name__.startswith("systole_tpu.tensorflow"):
                seen.add(id(value))
                found.update(functions(value, full + ".", seen))
        elif callable(value):
            seen.add(id(value))
            found[full] = value
    return found


def values(rng: random.Random) -> Any:
    """A random argument."""
    plain = [
        None, True, 0, 1, -1, 3, 2**31, -(2**63), 0.5, float("nan"), 1e308, "", "x", "SAME", b"\xff", "float32", (), [],
        [1, 2], [[1], [2, 3]], {"a": 1}, {1}, object(), tf.float32, tf.string, int, lambda *a: None, lambda x: x,
        slice(1), 2j, [None, 3], (2, 2),
    ]  # fmt: skip
    made = [
        lambda: np.zeros((2, 3), np.float32), lambda: np.zeros((1, 4, 4, 2), np.float32), lambda: np.array("text"),
        lambda: np.zeros(0), lambda: np.zeros((0, 3), np.int32), lambda: np.arange(3), lambda: np.array([None]),
        lambda: np.zeros(2, [("a", "i4")]), lambda: tf.zeros([2, 3]), lambda: tf.constant([1, 2]),
        lambda: tf.constant("text"), lambda: tf.placeholder(tf.float32, [None, 3]), lambda: tf.placeholder(tf.int64),
        lambda: tf.constant(True), lambda: tf.zeros([1, 4, 4, 2]), lambda: tf.Variable(1.0), lambda: tf.no_op(),
    ]  # fmt: skip
    return rng.choice(plain) if rng.random() < 0.5 else rng.choice(made)()


def arguments(function: Any, rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    try:
        parameters = [p.name for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        parameters = []
    positional = [values(rng) for _ in range(rng.randint(0, max(1, min(len(parameters), 4))))]
    named = {name: values(rng) for name in parameters[len(positional) :] if rng.random() < 0.3}
    return positional, named


def main(seed: int, calls: int) -> int:
    """Returns the number of functions that were called."""
    every = functions(tf, "", {id(tf)})
    for name, function in every.items():
        rng = random.Random(f"{seed} {name}")
        for _ in range(calls):
            tf.reset_default_graph()
            with contextlib.suppress(Exception):
                positional, named = arguments(function, rng)
                print(f"tf.{name}(*{positional!r}, **{named!r})"[:500], file=sys.stderr)
                with contextlib.redirect_stdout(io.StringIO()):
                    function(*positional, **named)
    return len(every)


if __name__ == "__main__":
    # Sizes of billions are errors.
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(main(int(sys.argv[1]), int(sys.argv[2])), "functions")
