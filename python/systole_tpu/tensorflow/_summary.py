"""tf.summary."""

from __future__ import annotations

import os
import struct
from typing import Any

from systole_tpu import _core

from ._examples import encode_field
from ._registry import export


def _summary(kind: str) -> Any:
    def make(
        name: str,
        tensor: Any = None,
        max_outputs: int = 3,
        collections: Any = None,
        family: Any = None,
        values: Any = None,
    ) -> Any:
        value = tensor if tensor is not None else values
        return _core.summary(kind, name, value, max_outputs, list(collections or []), family or "")

    make.__name__ = kind
    return make


@export("summary.scalar")
def scalar(name: str, tensor: Any, collections: Any = None, family: Any = None) -> Any:
    """One number of each step, for TensorBoard."""
    return _core.summary("scalar", name, tensor, 3, list(collections or []), family or "")


@export("summary.histogram")
def histogram(name: str, values: Any, collections: Any = None, family: Any = None) -> Any:
    return _core.summary("histogram", name, values, 3, list(collections or []), family or "")


@export("summary.text")
def text(name: str, tensor: Any, collections: Any = None) -> Any:
    return _core.summary("text", name, tensor, 3, list(collections or []), "")


export("summary.image")(_summary("image"))


@export("summary.merge")
def merge(inputs: Any, collections: Any = None, name: Any = None) -> Any:
    return _core.merge_summaries(list(inputs))


@export("summary.merge_all")
def merge_all(key: str = "summaries", scope: Any = None, name: Any = None) -> Any:
    return _core.merge_all_summaries(key)


class _Value:
    """A number of a summary, under its tag."""

    def __init__(self, tag: str = "", simple_value: float = 0.0, **kwargs: Any) -> None:
        self.tag, self.simple_value = tag, simple_value


class _Values(list):  # type: ignore[type-arg]
    def add(self, **fields: Any) -> _Value:
        self.append(_Value(**fields))
        return self[-1]


@export("Summary", "summary.Summary")
class Summary:
    """Numbers for an event file."""

    Value = _Value

    def __init__(self, value: Any = None) -> None:
        self.value = _Values(value or [])

    def SerializeToString(self) -> bytes:
        def one(value: _Value) -> bytes:
            number = struct.pack("<f", value.simple_value)
            return encode_field(1, value.tag.encode()) + b"\x15" + number

        return b"".join(encode_field(1, one(v)) for v in self.value)


@export("summary.FileWriter", "train.SummaryWriter")
class FileWriter:
    """Writes summaries into an event file of a folder."""

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        graph_def: Any = None,
        filename_suffix: Any = None,
        session: Any = None,
    ) -> None:
        self._core = _core.make_file_writer(os.fspath(logdir), graph, filename_suffix or "")
        self._logdir = os.fspath(logdir)

    def get_logdir(self) -> str:
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        data = summary.SerializeToString() if isinstance(summary, Summary) else summary
        self._core.add_summary(data, int(global_step or 0))

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        self._core.add_graph(graph, int(global_step or 0))

    def flush(self) -> None:
        self._core.flush()

    def close(self) -> None:
        self._core.close()

    def reopen(self) -> None:
        pass

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
