"""tf.contrib.tpu and cluster resolvers, for programs without an estimator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from systole_tpu import _core

from ._control import flatten, pack_like
from ._framework import Operation, Variable, control_dependencies, op
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


# -- Computations on the cores of a TPU.


class _Computation:
    """A computation as C++ calls it: tensors in and out. Operations that it returns run before its results."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._structure: Any = None
        self._gives_tensors = False

    def __call__(self, inputs: list[Any]) -> list[Any]:
        self._structure = self._function(*inputs)
        leaves = [leaf for leaf in flatten(self._structure) if leaf is not None]
        operations = [leaf for leaf in leaves if isinstance(leaf, Operation)]
        tensors = [_tensor(leaf) for leaf in leaves if not isinstance(leaf, Operation)]
        self._gives_tensors = bool(tensors)
        with control_dependencies(operations):
            return [op("identity", tensor) for tensor in tensors] or [op("constant", 0)]

    def results(self, tensors: list[Any]) -> Any:
        """Returns the results of one replica: a list of tensors; the function's own structure if that is nested; an
        operation that runs everything if the function returned no tensors."""
        if not self._gives_tensors:
            return tensors[0].op
        if not isinstance(self._structure, (list, tuple, dict)):
            return tensors
        kept = [leaf is not None and not isinstance(leaf, Operation) for leaf in flatten(self._structure)]
        nested = isinstance(self._structure, dict) or len(kept) != len(self._structure)
        return pack_like(self._structure, tensors) if nested and all(kept) else tensors


def _tensor(value: Any) -> Any:
    return value.read_value() if isinstance(value, Variable) else NAMES["convert_to_tensor"](value)


def _tensors(values: Any) -> list[Any]:
    return [_tensor(value) for value in values or []]


@export("contrib.tpu.replicate", "tpu.replicate")
def replicate(
    computation: Any,
    inputs: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: Any = None,
    maximum_shapes: Any = None,
) -> list[Any]:
    """Runs a computation on a core for each list of inputs. Returns the results of each core."""
    made = _Computation(computation)
    replicas = [_tensors(one) for one in ([[]] if inputs is None else inputs)]
    return [made.results(one) for one in _core.tpu_replicate(made, replicas, name or "TPUReplicate")]


@export("contrib.tpu.rewrite", "tpu.rewrite")
def rewrite(
    computation: Any, inputs: Any = None, infeed_queue: Any = None, device_assignment: Any = None, name: Any = None
) -> Any:
    """Returns the results of a computation on one core of a TPU."""
    return replicate(computation, None if inputs is None else [inputs], infeed_queue, device_assignment, name)[0]


@export("contrib.tpu.shard", "tpu.shard")
def shard(
    computation: Any,
    inputs: Any = None,
    num_shards: int = 1,
    input_shard_axes: Any = None,
    outputs_from_all_shards: Any = True,
    output_shard_axes: Any = None,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: Any = None,
) -> list[Any]:
    """Splits the inputs over cores and joins the results."""
    made = _Computation(computation)
    given = outputs_from_all_shards
    choices = {bool(one) for one in (given if isinstance(given, (list, tuple)) else [given])}
    if len(choices) > 1:
        raise NotImplementedError(
            f"tf.tpu.shard: outputs_from_all_shards, got {given}, expected True or False for all outputs"
        )
    from_all = choices != {False}
    axes = [list(values or []) for values in (input_shard_axes, output_shard_axes)]
    results = _core.tpu_shard(made, _tensors(inputs), int(num_shards), axes[0], from_all, axes[1])
    return made.results(results)


@export("contrib.tpu.batch_parallel", "tpu.batch_parallel")
def batch_parallel(
    computation: Any,
    inputs: Any = None,
    num_shards: int = 1,
    infeed_queue: Any = None,
    device_assignment: Any = None,
    name: Any = None,
) -> list[Any]:
    """shard() along the first axis of everything."""
    return shard(computation, inputs, num_shards, name=name)


@export("contrib.tpu.repeat")
def repeat(n: int, body: Any, inputs: Any = None, infeed_queue: Any = None, name: Any = None) -> Any:
    """Calls the body n times: with the inputs, then with its own results."""

    def own(values: list[Any]) -> list[Any]:
        result = body(*values)
        leaves = [leaf for leaf in flatten(result) if leaf is not None]
        operations = [leaf for leaf in leaves if isinstance(leaf, Operation)]
        with control_dependencies(operations):
            return [op("identity", _tensor(leaf)) for leaf in leaves if not isinstance(leaf, Operation)]

    results = _core.tpu_repeat(int(n), own, _tensors(inputs))
    return results[0] if len(results) == 1 else results


@export("contrib.tpu.outside_compilation", "tpu.outside_compilation")
def outside_compilation(computation: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the results of a computation that the host runs before the program begins, such as of texts and files."""
    made = _Computation(lambda: computation(*args, **kwargs))
    return made.results(_core.tpu_outside_compilation(lambda: made([])))
