"""tf.Session: runs parts of a graph."""

from __future__ import annotations

import atexit
import collections
import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from systole_tpu import _core

from ._framework import Graph, Operation, Tensor, Variable, get_default_graph
from ._registry import export

_local = threading.local()
_LEAVES = (Tensor, Operation, Variable)


def _stack() -> list[Any]:
    if not hasattr(_local, "sessions"):
        _local.sessions = []
    return _local.sessions


@export("get_default_session")
def get_default_session() -> Any:
    """The session of the innermost `with`, or None."""
    sessions = _stack()
    return sessions[-1] if sessions else None


class Message:
    """A protocol buffer's fields as attributes: ConfigProto and kin, of which few change anything."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Message()
        self.__dict__[name] = made
        return made

    def CopyFrom(self, other: Message) -> None:
        self.__dict__.clear()
        self.__dict__.update(other.__dict__)

    MergeFrom = CopyFrom

    def HasField(self, name: str) -> bool:
        return name in self.__dict__

    def extend(self, values: Any) -> None:
        pass

    def append(self, value: Any) -> None:
        pass

    def __repr__(self) -> str:
        return "\n".join(f"{k}: {v!r}" for k, v in self.__dict__.items())


@export("ConfigProto")
class ConfigProto(Message):
    """Settings of a session: intra_op_parallelism_threads is its number of threads."""


_CONSTANTS = {"OFF": 0, "ON_1": 1, "L0": -1, "L1": 0, "NO_TRACE": 0, "FULL_TRACE": 3, "SOFTWARE_TRACE": 1}
for _name in ("GPUOptions", "GraphOptions", "OptimizerOptions", "RunOptions", "RunMetadata"):
    export(_name)(type(_name, (Message,), {"__module__": "systole_tpu.tensorflow", **_CONSTANTS}))


def target_of(name: Any) -> str:
    """The session's target for a master; SYSTOLE_TPU names the TPU that programs find."""
    target = name or ""
    if target.startswith("grpc://") and os.environ.get("SYSTOLE_TPU"):
        return tpu_target()
    return target


def tpu_target() -> str:
    """The TPU of `systole run --tpu`: "v2-8" is a virtual one of 8 cores."""
    tpu = os.environ.get("SYSTOLE_TPU", "")
    if not tpu or ":" in tpu or tpu == "local":
        return tpu
    return f"local:{tpu}"


_DeviceAttributes = collections.namedtuple(
    "_DeviceAttributes", ["name", "device_type", "memory_limit_bytes", "incarnation"]
)

_open: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes what the program left open: threads of data sets end while there is an interpreter that they can call."""
    for session in list(_open):
        session.close()


def flatten_fetches(graph: Any, fetch: Any, leaves: list[Any]) -> Any:
    """The structure of the fetches with places in `leaves`."""
    if isinstance(fetch, str):
        fetch = graph.as_graph_element(fetch)
        if getattr(fetch, "_dtype_name", "") == "resource":  # "v:0" is a variable's value
            fetch = next(v for v in graph.get_collection("variables") if v.handle == fetch)
    if isinstance(fetch, _LEAVES):
        leaves.append(fetch)
        return len(leaves) - 1
    if isinstance(fetch, dict):
        return {key: flatten_fetches(graph, value, leaves) for key, value in fetch.items()}
    if isinstance(fetch, tuple) and hasattr(fetch, "_fields"):
        return type(fetch)(*(flatten_fetches(graph, value, leaves) for value in fetch))
    if isinstance(fetch, (list, tuple)):
        return type(fetch)(flatten_fetches(graph, value, leaves) for value in fetch)
    if hasattr(fetch, "_as_graph_element"):
        return flatten_fetches(graph, fetch._as_graph_element(), leaves)
    raise TypeError(
        f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. "
        f"(Can not convert a {type(fetch).__name__} into a Tensor or Operation.)"
    )


class BaseSession:
    """What Session and InteractiveSession share."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        threads = getattr(config, "__dict__", {}).get("intra_op_parallelism_threads", 0) or 0
        self._graph = graph if graph is not None else get_default_graph()
        self._core = _core.make_session(target_of(target), self._graph, int(threads))
        self._scopes: list[Any] = []
        self._closed = False
        _open.add(self)

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def graph_def(self) -> Any:
        return self._graph

    @property
    def sess_str(self) -> str:
        return self._core.target

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """The values of the fetches, in their structure: arrays, and None for operations."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        values = self._core.run_plain(fetches, feed_dict)
        if values is not NotImplemented:
            return values
        feeds = self._feeds(feed_dict) if feed_dict else {}
        leaves: list[Any] = []
        structure = flatten_fetches(self._graph, fetches, leaves)
        values = self._core.run(leaves, feeds) if leaves else []
        return _pack(structure, values)

    def _feeds(self, feed_dict: Any) -> dict[Any, Any]:
        if all(type(key) in _LEAVES for key in feed_dict):
            return feed_dict if type(feed_dict) is dict else dict(feed_dict)
        feeds: dict[Any, Any] = {}
        for key, value in feed_dict.items():
            if isinstance(key, str):
                key = self._graph.as_graph_element(key)
            if isinstance(key, (list, tuple)):
                feeds.update(zip(key, value, strict=True))
            elif type(key) not in _LEAVES:
                raise TypeError(f"The feed_dict key {key!r} cannot be interpreted as a Tensor")
            else:
                feeds[key] = value
        return feeds

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        def call(*values: Any) -> Any:
            return self.run(fetches, dict(zip(feed_list or [], values, strict=True)))

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        raise NotImplementedError("tf.Session.partial_run_setup: fetch everything in one run")

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Any]:
        _stack().append(self)
        try:
            with self._graph._scope():
                yield self
        finally:
            _stack().remove(self)

    def list_devices(self) -> list[Any]:
        """Lists the processor of this machine or of the worker, then the cores of its TPU."""
        target = self._core.target
        job = "worker" if target.startswith("grpc://") else "localhost"
        found = [device for device in _core.devices(target) if device[0] == "TPU"]
        counts = [("CPU", 0, 0), *((kind, i, memory) for i, (kind, memory) in enumerate(found))]
        return [
            _DeviceAttributes(f"/job:{job}/replica:0/task:0/device:{kind}:{i}", kind, memory, 0)
            for kind, i, memory in counts
        ]

    def close(self) -> None:
        """Frees the variables; later runs are errors."""
        if not self._closed:
            self._closed = True
            self._core.close()


def borrowed(core: Any) -> BaseSession:
    """The session of an estimator, for its hooks."""
    session = object.__new__(BaseSession)
    session._core, session._graph, session._scopes, session._closed = core, core.graph, [], False
    return session


def _pack(structure: Any, values: list[Any]) -> Any:
    if isinstance(structure, int):
        return values[structure]
    if isinstance(structure, dict):
        return {key: _pack(value, values) for key, value in structure.items()}
    if hasattr(structure, "_fields"):
        return type(structure)(*(_pack(value, values) for value in structure))
    return type(structure)(_pack(value, values) for value in structure)


@export("Session")
class Session(BaseSession):
    """Runs parts of a graph and keeps the values of its variables."""

    def __enter__(self) -> Session:
        scope = self.as_default()
        scope.__enter__()
        self._scopes.append(scope)
        return self

    def __exit__(self, *error: Any) -> None:
        self._scopes.pop().__exit__(*error)
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        pass


@export("InteractiveSession")
class InteractiveSession(BaseSession):
    """A session that is the default one until it is closed."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        _stack().append(self)

    def close(self) -> None:
        if self in _stack():
            _stack().remove(self)
        super().close()
