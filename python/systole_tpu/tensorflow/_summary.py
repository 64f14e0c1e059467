"""tf.summary."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

from systole_tpu import _core

from ._examples import encode_field, fields_of, tf_record_iterator
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

    def ParseFromString(self, serialized: bytes) -> int:
        self.value = _Values(_value_of(payload) for number, payload in fields_of(serialized) if number == 1)
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> Summary:
        made = cls()
        made.ParseFromString(serialized)
        return made


def _value_of(serialized: bytes) -> _Value:
    parts = dict(fields_of(serialized))
    return _Value(parts.get(1, b"").decode(), struct.unpack("<f", parts[2])[0] if 2 in parts else 0.0)


@export("Event", "summary.Event")
class Event:
    """A record of an event file: when it was written, the step, and a summary, a graph or the file's version."""

    def __init__(
        self,
        wall_time: float = 0.0,
        step: int = 0,
        file_version: str = "",
        graph_def: bytes = b"",
        summary: Any = None,
    ) -> None:
        self.wall_time, self.step, self.file_version, self.graph_def = wall_time, step, file_version, graph_def
        self.summary = summary or Summary()

    def HasField(self, name: str) -> bool:
        return bool(self.summary.value if name == "summary" else getattr(self, name))

    @classmethod
    def FromString(cls, serialized: bytes) -> Event:
        parts = dict(fields_of(serialized))
        wall_time = struct.unpack("<d", parts[1])[0] if 1 in parts else 0.0
        summary = Summary.FromString(parts.get(5, b""))
        return cls(wall_time, parts.get(2, 0), parts.get(3, b"").decode(), parts.get(4, b""), summary)


@export("train.summary_iterator")
def summary_iterator(path: Any) -> Iterator[Event]:
    """The events of a file, in their order."""
    for record in tf_record_iterator(os.fspath(path)):
        yield Event.FromString(record)


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
