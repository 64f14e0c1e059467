"""Calls every public function of tf.* with random arguments, runs the tensors that it gives and calls methods of the
objects that it gives: each call returns or raises an exception.

usage: fuzz_tensorflow.py SEED CALLS [NAME]     CALLS of each function, or of those whose names begin with NAME.
                                                Prints the number of functions.
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


def likely(name: str, rng: random.Random) -> Any:
    """An argument that a parameter of this name may take."""

    def small() -> int:
        return rng.randint(-2, 4)

    by_name: dict[str, list[Any]] = {
        "name": [None, "n"],
        "dtype": [tf.float32, tf.int32, tf.string, tf.bool],
        "axis": [small(), None, [0, 1]],
        "shape": [[rng.randint(0, 4) for _ in range(rng.randint(0, 4))]],
        "size": [[small(), small()]],
        "padding": ["SAME", "VALID", "same", "valid"],
        "data_format": ["NHWC", "NCHW", None],
        "perm": [[1, 0]],
        "strides": [small(), [1, 2, 2, 1], [1, 0, 1, 1]],
        "kernel_size": [small(), [2, 2]],
        "ksize": [[1, 2, 2, 1]],
        "labels": [tf.zeros([2], tf.int64), tf.zeros([2, 3]), tf.constant([7, -1])],
        "indices": [tf.constant([0, 9, -1]), [[0, 0]], small()],
        "learning_rate": [rng.random()],
        **{key: [small()] for key in ("units", "filters", "k", "num_classes", "depth", "seed")},
    }
    others = [
        tf.random_normal([2, 3]), tf.constant([1, 2, 3]), np.ones((1, 4, 4, 2), np.float32), small(), tf.constant(2.0),
        tf.random_normal([1, 4, 4, 2]), tf.constant([["a", "b"]]), rng.random(), [tf.zeros([2]), tf.zeros([2])],
        tf.zeros([0, 3]), tf.constant([[True, False]]),
    ]  # fmt: skip
    return rng.choice(by_name.get(name, others))


def arguments(function: Any, rng: random.Random) -> tuple[list[Any], dict[str, Any]]:
    """Random arguments, and half of the time those that the parameters' names let expect."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if names and rng.random() < 0.5:
        needed = [p.name for p in parameters if p.default is p.empty and p.name in names]
        more = [name for name in names if name not in needed and rng.random() < 0.2]
        return [], {name: likely(name, rng) for name in (*needed, *more)}
    positional = [values(rng) for _ in range(rng.randint(0, max(1, min(len(names), 4))))]
    named = {name: values(rng) for name in names[len(positional) :] if rng.random() < 0.3}
    return positional, named


def call(name: str, function: Any, rng: random.Random) -> Any:
    """What the function returns for random arguments; None where it raises."""
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        positional, named = arguments(function, rng)
        print(f"{name}(*{positional!r}, **{named!r})"[:500], file=sys.stderr)
        return function(*positional, **named)
    return None


# Methods that wait, or read all of a data set.
_WAITING = {"join", "wait", "wait_for_stop", "reduce"}


def use(name: str, result: Any, rng: random.Random) -> None:
    """Runs tensors, and calls some methods of an object."""
    leaves = result if isinstance(result, (list, tuple)) else [result]
    if leaves and all(isinstance(leaf, (tf.Tensor, tf.Operation)) for leaf in leaves):
        with contextlib.suppress(Exception), tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(list(leaves))
    elif type(result).__module__.startswith("systole_tpu"):
        methods = [m for m in dir(type(result)) if not m.startswith("_") and m not in _WAITING]
        for method in rng.sample(methods, min(3, len(methods))):
            with contextlib.suppress(Exception):
                bound = getattr(result, method)
                if callable(bound):
                    call(f"  .{method}", bound, rng)


def main(seed: int, calls: int, begin: str = "") -> int:
    """Returns the number of functions that were called."""
    every = {name: f for name, f in functions(tf, "", {id(tf)}).items() if name.startswith(begin)}
    for name, function in every.items():
        rng = random.Random(f"{seed} {name}")
        for _ in range(calls):
            tf.reset_default_graph()
            use(name, call(f"tf.{name}", function, rng), rng)
    return len(every)


if __name__ == "__main__":
    # Sizes of billions are errors.
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]), "functions")
