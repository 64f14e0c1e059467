"""tf.contrib.tpu and cluster resolvers, for programs without an estimator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from systole_tpu import _core

from ._functions import core_function
from ._registry import NAMES, export
from ._session import tpu_target


@export("contrib.tpu.initialize_system", "tpu.initialize_system")
def initialize_system(embedding_config: Any = None, job: Any = None) -> Any:
    return core_function("tpu.initialize_system")()


@export("contrib.tpu.shutdown_system", "tpu.shutdown_system")
def shutdown_system(job: Any = None) -> Any:
    return core_function("tpu.shutdown_system")()


@export("contrib.cluster_resolver.TPUClusterResolver", "distribute.cluster_resolver.TPUClusterResolver")
class TPUClusterResolver:
    """Finds the TPU of a name; with `systole run --tpu v2-8` any name is that virtual TPU."""

    def __init__(
        self,
        tpu: Any = None,
        zone: Any = None,
        project: Any = None,
        job_name: str = "worker",
        coordinator_name: Any = None,
        coordinator_address: Any = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: Any = None,
    ) -> None:
        name = tpu[0] if isinstance(tpu, (list, tuple)) and tpu else tpu
        self._name = name.decode() if isinstance(name, bytes) else name

    def master(self, *args: Any, **kwargs: Any) -> str:
        target = tpu_target()
        if target:
            return target
        if self._name is not None and not str(self._name):
            return ""
        try:
            return _core.find_tpu(str(self._name or ""))
        except Exception as error:
            raise type(error)(
                None, None, f"{error}; `systole run --tpu v2-8` makes it a virtual TPU of this machine"
            ) from None

    get_master = master

    def cluster_spec(self) -> Any:
        return None

    def num_accelerators(self, *args: Any, **kwargs: Any) -> int:
        return int(tpu_target().rpartition("-")[2] or 1)


class _TpuContext:
    number_of_shards: Any = None

    def set_number_of_shards(self, number_of_shards: int) -> None:
        self.number_of_shards = number_of_shards


_CONTEXT = _TpuContext()


@export("contrib.tpu.python.tpu.tpu_function.get_tpu_context")
def get_tpu_context() -> _TpuContext:
    return _CONTEXT


@export("contrib.tpu.bfloat16_scope", "tpu.bfloat16_scope")
@contextlib.contextmanager
def bfloat16_scope(name: Any = None) -> Iterator[Any]:
    """Layers with inputs of bfloat16 keep their variables as float32."""
    scope = _core.bfloat16_scope(name or "")
    scope.__enter__()
    try:
        yield NAMES["get_variable_scope"]()
    finally:
        scope.__exit__(None, None, None)


@export("contrib.layers.recompute_grad")
def recompute_grad(fn: Any, use_data_dep: Any = None, tupleize_grads: bool = False) -> Any:
    """The function, whose values are computed again for its gradients."""

    def call(*args: Any) -> Any:
        several = []

        def own(values: list[Any]) -> list[Any]:
            result = fn(*values)
            several.append(isinstance(result, (list, tuple)))
            return list(result) if several[-1] else [result]

        results = _core.recompute_grad(own, list(args))
        return results if several[-1] else results[0]

    return call
