"""tf.contrib.training, tf.contrib.framework, tf.contrib.estimator, tf.contrib.distribute and tf.contrib.seq2seq."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from ._data import Dataset
from ._framework import GraphKeys, get_collection, op
from ._registry import NAMES, export
from ._training import Optimizer

# -- Hyperparameters.


@export("contrib.training.HParams")
class HParams:
    """Values by name, each of one type: parse() reads "rate=0.1,sizes=[1,2]"."""

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        self._types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        if name in self._types or getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._types[name] = (type(value[0] if several else value), several)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        kind, several = self._types[name]
        if isinstance(value, (list, tuple)) != several:
            raise ValueError(f"Must {'' if several else 'not '}pass a list for {name}.")
        setattr(self, name, [_cast(kind, name, v) for v in value] if several else _cast(kind, name, value))

    def del_hparam(self, name: str) -> None:
        if self._types.pop(name, None):
            delattr(self, name)

    def parse(self, values: str) -> HParams:
        return self.override_from_dict(_parsed(values, self._types))

    def override_from_dict(self, values_dict: dict[str, Any]) -> HParams:
        for name, value in values_dict.items():
            if name not in self._types:
                raise (
                    KeyError(f"{name} does not exist.")
                    if not isinstance(values_dict, _Parsed)
                    else ValueError(f"Unknown hyperparameter type for {name}")
                )
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._types}

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def get(self, key: str, default: Any = None) -> Any:
        return getattr(self, key) if key in self._types else default

    def get_model_structure(self) -> Any:
        return self._model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._types

    def __repr__(self) -> str:
        return f"HParams({sorted(self.values().items())})"


class _Parsed(dict):  # type: ignore[type-arg]
    """Values that a text gave."""


def _cast(kind: type, name: str, value: Any) -> Any:
    if kind is bool and isinstance(value, str):
        lowered = value.lower()
        if lowered not in ("true", "false", "1", "0"):
            raise ValueError(f"Could not parse hparam '{name}' of type 'bool' with value '{value}'")
        return lowered in ("true", "1")
    if value is None or kind is type(None):
        return value
    if kind is int and isinstance(value, float) and not value.is_integer():
        raise ValueError(f"Could not cast hparam '{name}' of type 'int' from value {value!r}")
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ValueError(f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{value}'") from None


def _parsed(text: str, types: dict[str, Any]) -> _Parsed:
    values, rest = _Parsed(), text.strip()
    while rest:
        name, equals, rest = rest.partition("=")
        name, bracket, place = name.strip().partition("[")
        if not equals:
            raise ValueError(f"Malformed hyperparameter value: {text}")
        if rest.startswith("["):
            inside, _, rest = rest[1:].partition("]")
            value: Any = [v.strip() for v in inside.split(",") if v.strip()]
            rest = rest.lstrip(", ")
        else:
            value, _, rest = rest.partition(",")
            value = value.strip()
        if bracket:
            raise NotImplementedError(f"tf.contrib.training.HParams.parse: {name}[{place}, expected no places of lists")
        values[name] = value
    return values


# -- Checkpoints.


@export("contrib.training.wait_for_new_checkpoint")
def wait_for_new_checkpoint(
    checkpoint_dir: str, last_checkpoint: Any = None, seconds_to_sleep: float = 1, timeout: Any = None
) -> Any:
    """The latest checkpoint once it is another one; None after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = NAMES["train.latest_checkpoint"](checkpoint_dir)
        if found is not None and found != last_checkpoint:
            return found
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


@export("contrib.training.checkpoints_iterator", "train.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: str, min_interval_secs: float = 0, timeout: Any = None, timeout_fn: Any = None
) -> Iterator[str]:
    """Each new checkpoint of a folder, until none comes within `timeout` seconds."""
    path = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        path, start = found, time.monotonic()
        yield path
        time.sleep(max(start + min_interval_secs - time.monotonic(), 0))


@export("contrib.framework.assign_from_checkpoint_fn")
def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None]:
    """A function of a session that reads variables from a checkpoint."""
    if not var_list:
        raise ValueError("var_list cannot be empty")
    named = dict(var_list) if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    if ignore_missing_vars:
        saved = {name for name, _ in NAMES["train.list_variables"](model_path)}
        named = {name: variable for name, variable in named.items() if name in saved}
    saver = NAMES["train.Saver"](named)
    return lambda session: saver.restore(session, os.fspath(model_path))


# -- Variables.


@export("contrib.framework.variable", "contrib.framework.model_variable")
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    **kwargs: Any,
) -> Any:
    """tf.get_variable()."""
    return NAMES["get_variable"](
        name, shape, dtype, initializer, regularizer, trainable, list(collections) if collections else None
    )


@export("contrib.framework.get_variables")
def get_variables(scope: Any = None, suffix: Any = None, collection: str = GraphKeys.GLOBAL_VARIABLES) -> list[Any]:
    found = get_collection(collection, getattr(scope, "name", scope))
    return [v for v in found if suffix is None or v.op.name.rpartition("/")[2] == suffix]


@export("contrib.framework.get_variables_to_restore")
def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The variables of scopes, less those of others."""
    chosen = [v for scope in include or [None] for v in get_variables(scope)]
    left_out = {v.name for scope in exclude or [] for v in get_variables(scope)}
    return [v for v in chosen if v.name not in left_out]


# -- Optimizers and losses.


@export("contrib.estimator.clip_gradients_by_norm")
def clip_gradients_by_norm(optimizer: Any, clip_norm: float) -> Any:
    """An optimizer whose gradients have at most this norm together."""
    if isinstance(optimizer, str):
        raise NotImplementedError("tf.contrib.estimator.clip_gradients_by_norm: optimizer, got a name, expected one")

    class Clipping(Optimizer):
        def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
            return optimizer.compute_gradients(*args, **kwargs)

        def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
            pairs = [(g, v) for g, v in grads_and_vars if g is not None]
            clipped, _ = op("clip_by_global_norm", [g for g, _ in pairs], clip_norm)
            return optimizer.apply_gradients(list(zip(clipped, [v for _, v in pairs], strict=True)), global_step, name)

        def get_slot(self, var: Any, name: str) -> Any:
            return optimizer.get_slot(var, name)

        def get_slot_names(self) -> list[str]:
            return optimizer.get_slot_names()

        def variables(self) -> list[Any]:
            return optimizer.variables()

    return Clipping(name=f"{optimizer.get_name()}_clipped")


@export("contrib.seq2seq.sequence_loss")
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Any = None,
    name: Any = None,
) -> Any:
    """Weighted cross entropy of logits [batch, steps, classes], averaged over the axes that are asked for."""
    if len(logits.shape) != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    classes, shape = logits.shape[2].value, op("shape", logits)
    flat_logits, flat_targets = op("reshape", logits, [-1, classes]), op("reshape", targets, [-1])
    function = softmax_loss_function or NAMES["nn.sparse_softmax_cross_entropy_with_logits"]
    losses = function(labels=flat_targets, logits=flat_logits)
    losses = op("reshape", losses, op("stack", [shape[0], shape[1]])) * weights
    tiny = 1e-12
    if average_across_timesteps and average_across_batch:
        return op("reduce_sum", losses) / (op("reduce_sum", weights) + tiny)
    if average_across_timesteps:
        return op("reduce_sum", losses, 1) / (op("reduce_sum", weights, 1) + tiny)
    if average_across_batch:
        return op("reduce_sum", losses, 0) / (op("reduce_sum", weights, 0) + tiny)
    if sum_over_timesteps:
        losses = op("reduce_sum", losses, 1)
    return op("reduce_sum", losses, 0) if sum_over_batch else losses


# -- Devices: there is one, which may be a TPU of several cores.


class _Strategy:
    """A distribution over the one device that there is."""

    num_towers = num_replicas_in_sync = 1

    def scope(self) -> Any:
        import contextlib

        return contextlib.nullcontext(self)

    def distribute_dataset(self, dataset_fn: Any) -> Any:
        return dataset_fn()

    def configure(self, *args: Any, **kwargs: Any) -> None: ...


@export("contrib.distribute.OneDeviceStrategy", "distribute.OneDeviceStrategy")
class OneDeviceStrategy(_Strategy):
    def __init__(self, device: str) -> None:
        self.device = device


@export("contrib.distribute.MirroredStrategy", "distribute.MirroredStrategy")
class MirroredStrategy(_Strategy):
    """Copies on several GPUs, of which there is none: one device, or an error for more."""

    def __init__(self, devices: Any = None, num_gpus: Any = None, cross_device_ops: Any = None, **kwargs: Any) -> None:
        count = len(devices) if devices is not None else num_gpus or 1
        if count > 1:
            raise NotImplementedError(f"tf.contrib.distribute.MirroredStrategy: got {count} devices, expected one")


@export("contrib.distribute.AllReduceCrossTowerOps", "contrib.distribute.AllReduceCrossDeviceOps")
class AllReduceCrossDeviceOps:
    def __init__(self, all_reduce_alg: str = "nccl", num_packs: int = 1, *args: Any, **kwargs: Any) -> None:
        self.all_reduce_alg, self.num_packs = all_reduce_alg, num_packs


@export("contrib.distribute.initialize_tpu_system")
def initialize_tpu_system(cluster_resolver: Any = None) -> None:
    """Nothing: a TPU is ready when it is found."""


# -- Data.


@export("contrib.data.Counter", "data.experimental.Counter")
def Counter(start: int = 0, step: int = 1, dtype: Any = "int64") -> Dataset:
    """start, start + step, ... without end."""
    return Dataset.range(0, 2**62).map(lambda i: op("cast", start + i * step, dtype))


@export("contrib.data.padded_batch_and_drop_remainder")
def padded_batch_and_drop_remainder(batch_size: int, padded_shapes: Any, padding_values: Any = None) -> Any:
    return lambda d: d.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


# Slim has the names of both.
for _name in [n for n in NAMES if n.startswith(("contrib.layers.", "contrib.framework."))]:
    NAMES.setdefault(f"contrib.slim.{_name.split('.', 2)[2]}", NAMES[_name])
