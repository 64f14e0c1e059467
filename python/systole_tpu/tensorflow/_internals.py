"""Names that programs import from TensorFlow's own modules, and that no public module has."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from ._framework import Tensor, get_default_graph, known, notes, op
from ._registry import NAMES, export
from ._session import Message

_Device = collections.namedtuple("DeviceAttributes", ["name", "device_type", "memory_limit", "physical_device_desc"])


@export("python.client.device_lib.list_local_devices")
def list_local_devices(session_config: Any = None) -> list[Any]:
    """The devices of this machine: its processor."""
    return [_Device("/device:CPU:0", "CPU", 0, "")]


export("core.protobuf.rewriter_config_pb2.RewriterConfig")(
    type("RewriterConfig", (Message,), {"DEFAULT": 0, "ON": 1, "OFF": 2, "AGGRESSIVE": 3, "NO_MEM_OPT": 1})
)
export("core.framework.variable_pb2.VariableDef")(type("VariableDef", (Message,), {}))


@export("python.grappler.tf_optimizer.OptimizeGraph")
def optimize_graph(config_proto: Any, metagraph: Any, *args: Any, **kwargs: Any) -> Any:
    """The graph as it is: sessions optimize what they run."""
    return metagraph.graph_def


# -- Branches before tf.cond: all of them are computed, and merge() takes the value of the live one.


@export("python.ops.control_flow_ops.switch")
def switch(data: Any, pred: Any, dtype: Any = None, name: Any = None) -> tuple[Any, Any]:
    """(data where pred is false, data where it is true)."""
    both = (op("identity", data), op("identity", data))
    for branch, tensor in enumerate(both):
        notes(get_default_graph(), "_branches")[tensor] = (pred, bool(branch))
    return both


def _branches_of(tensor: Any) -> list[tuple[Any, bool]]:
    """What decides whether the tensor is live: the switches that it is computed from."""
    branches = known(get_default_graph(), "_branches")
    found, seen, left = [], set(), [tensor]
    while left:
        here = left.pop()
        if here in branches:
            found.append(branches[here])
            continue
        if here.op.name not in seen:
            seen.add(here.op.name)
            left.extend(i for i in here.op.inputs if isinstance(i, Tensor))
    return found


@export("python.ops.control_flow_ops.merge")
def merge(inputs: Any, name: Any = None) -> tuple[Any, Any]:
    """(the value of the input that is live, its number)."""
    result, number = inputs[-1], op("constant", len(inputs) - 1)
    for i in range(len(inputs) - 2, -1, -1):
        live = op("constant", True)
        for pred, branch in _branches_of(inputs[i]):
            live = op("logical_and", live, pred if branch else op("logical_not", pred))
        result = op("where_v2", live, inputs[i], result)
        number = op("where_v2", live, op("constant", i), number)
    return result, number


# -- Moving averages, steps of checkpoints.


@export("python.training.moving_averages.assign_moving_average")
def assign_moving_average(variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: Any = None) -> Any:
    """variable -= (1 - decay) * (variable - value); `zero_debias` corrects averages that began at zero."""
    if not zero_debias:
        return variable.assign_sub((variable - value) * (1.0 - decay))
    with NAMES["variable_scope"](variable.op.name):
        zeros = NAMES["zeros_initializer"]()
        biased = NAMES["get_variable"]("biased", variable.shape, variable.dtype, zeros, trainable=False)
        steps = NAMES["get_variable"]("local_step", [], variable.dtype, zeros, trainable=False)
    average = biased.assign_sub((biased - value) * (1.0 - decay))
    count = steps.assign_add(1.0)
    return variable.assign(average / (1.0 - op("pow", op("cast", decay, variable.dtype), count)))


@export("python.estimator.estimator._load_global_step_from_checkpoint_dir")
def load_global_step(checkpoint_dir: str) -> int:
    """The global step of the latest checkpoint; 0 without one."""
    latest = NAMES["train.latest_checkpoint"](checkpoint_dir)
    return 0 if latest is None else int(NAMES["train.load_variable"](latest, "global_step"))


# -- Between the cores of a TPU.


@export("contrib.tpu.cross_replica_sum", "contrib.tpu.python.ops.tpu_ops.cross_replica_sum", "tpu.cross_replica_sum")
def cross_replica_sum(x: Any, group_assignment: Any = None, name: Any = None) -> Any:
    """Returns the sum of x over all cores, or over those of each group of `group_assignment`."""
    groups = np.zeros((0, 0)) if group_assignment is None else group_assignment
    return op("raw_ops.CrossReplicaSum", x, op("constant", np.asarray(groups, np.int32)), name=name)


@export("contrib.tpu.python.tpu.async_checkpoint.AsyncCheckpointSaverHook")
def async_checkpoint_saver_hook(*args: Any, **kwargs: Any) -> Any:
    """Saves between launches, as tf.train.CheckpointSaverHook does."""
    return NAMES["train.CheckpointSaverHook"](*args, **kwargs)


# -- Files by their older names.

for _old, _new in {
    "FileIO": "gfile.GFile",
    "file_exists": "gfile.Exists",
    "is_directory": "gfile.IsDirectory",
    "recursive_create_dir": "gfile.MakeDirs",
    "create_dir": "gfile.MkDir",
    "delete_file": "gfile.Remove",
    "delete_recursively": "gfile.DeleteRecursively",
    "get_matching_files": "gfile.Glob",
    "list_directory": "gfile.ListDirectory",
    "copy": "gfile.Copy",
    "rename": "gfile.Rename",
    "stat": "gfile.Stat",
    "walk": "gfile.Walk",
}.items():
    export(f"python.lib.io.file_io.{_old}")(NAMES[_new])


@export("python.lib.io.file_io.read_file_to_string")
def read_file_to_string(filename: str, binary_mode: bool = False) -> Any:
    with NAMES["gfile.GFile"](filename, "rb" if binary_mode else "r") as file:
        return file.read()


@export("python.lib.io.file_io.write_string_to_file")
def write_string_to_file(filename: str, file_content: Any) -> None:
    with NAMES["gfile.GFile"](filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)
