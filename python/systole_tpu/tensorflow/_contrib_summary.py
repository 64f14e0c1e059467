"""tf.contrib.summary: summaries that are written when they run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._framework import get_default_graph, notes, op
from ._registry import NAMES, export

_WRITERS: list[Any] = []


class _Writer:
    """A folder's event file, opened when it is written first."""

    def __init__(self, logdir: Any) -> None:
        self._logdir, self._made = os.fspath(logdir), None

    @property
    def writer(self) -> Any:
        if self._made is None:
            self._made = NAMES["summary.FileWriter"](self._logdir)
        return self._made

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Any]:
        _WRITERS.append(self)
        try:
            yield self
        finally:
            _WRITERS.pop()

    def init(self) -> Any:
        return op("no_op")

    def flush(self) -> Any:
        return op("no_op")

    close = flush


@export("contrib.summary.create_file_writer")
def create_file_writer(
    logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None, name: Any = None
) -> _Writer:
    return _Writer(logdir)


@contextlib.contextmanager
def _always() -> Iterator[None]:
    yield


export("contrib.summary.always_record_summaries")(lambda: _always())
export("contrib.summary.record_summaries_every_n_global_steps")(lambda n, global_step=None: _always())


@export("contrib.summary.scalar")
def scalar(name: str, tensor: Any, family: Any = None, step: Any = None) -> Any:
    """An operation that writes the number."""
    if not _WRITERS:
        return op("no_op")
    writer = _WRITERS[-1]
    step = NAMES["train.get_or_create_global_step"]() if step is None else step
    tag = f"{family}/{name}" if family else name

    def write(value: Any, at: Any) -> Any:
        number = NAMES["Summary"].Value(tag, float(np.mean(value)))
        writer.writer.add_summary(NAMES["Summary"]([number]), int(np.max(at)))
        writer.writer.flush()
        return np.int32(0)

    written = NAMES["py_func"](write, [tensor, step], "int32")
    notes(get_default_graph(), "_summaries").setdefault("all", []).append(written)
    return written


@export("contrib.summary.all_summary_ops")
def all_summary_ops() -> list[Any]:
    return list(notes(get_default_graph(), "_summaries").get("all", []))
