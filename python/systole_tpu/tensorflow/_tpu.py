"""tf.contrib.tpu and cluster resolvers, for programs without an estimator."""

from __future__ import annotations

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
        self, tpu: Any = None, zone: Any = None, project: Any = None, job_name: str = "worker", **kwargs: Any
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


# The modules within tf.contrib.tpu that programs import.
for _module, _names in {
    "tpu_config": ("RunConfig", "TPUConfig", "InputPipelineConfig"),
    "tpu_estimator": ("TPUEstimator", "TPUEstimatorSpec"),
    "tpu_optimizer": ("CrossShardOptimizer",),
}.items():
    for _name in _names:
        export(f"contrib.tpu.python.tpu.{_module}.{_name}")(NAMES[f"contrib.tpu.{_name}"])
