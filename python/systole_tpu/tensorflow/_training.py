"""tf.train: optimizers and schedules (whose lists are C++'s), global steps, savers."""

from __future__ import annotations

import os
from typing import Any

from systole_tpu import _core

from ._arguments import (
    bind,
    check_kinds,
    constructor,
    described,
    has_arguments,
    kind_of_default,
    refuse_rest,
    signature_of,
)
from ._framework import GraphKeys, get_collection, get_default_graph, gradients, group, op
from ._registry import NAMES, export
from ._variables import get_variable, trainable_variables

# -- Optimizers.


def _kept(update: Any) -> Any:
    """The operation of a step, which is in the collection of them."""
    NAMES["add_to_collection"](GraphKeys.TRAIN_OP, update)
    return update


@export("train.Optimizer")
class Optimizer:
    """The base of optimizers: minimize() is compute_gradients() and apply_gradients()."""

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking: bool = False, name: str = "Optimizer") -> None:
        self._name = name
        self._use_locking = use_locking

    def get_name(self) -> str:
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: Any = None,
        grad_loss: Any = None,
    ) -> Any:
        """The operation that takes one step towards a smaller loss."""
        grads_and_vars = self.compute_gradients(loss, var_list=var_list, grad_loss=grad_loss)
        if all(g is None for g, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """(gradient, variable) of each variable."""
        variables = list(trainable_variables() if var_list is None else var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        loss = loss() if callable(loss) else loss
        return list(zip(gradients(loss, variables, None if grad_loss is None else [grad_loss]), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        """The operation that updates the variables, for optimizers that define _apply_dense()."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        self._create_slots([v for _, v in pairs])
        self._prepare()
        updates = [self._apply_dense(g, v) for g, v in pairs]
        updates = [self._finish(updates, name or self._name)]
        if global_step is not None:
            with NAMES["control_dependencies"](updates):
                updates.append(global_step.assign_add(1))
        return _kept(group(*updates, name=name or self._name))

    def _create_slots(self, var_list: Any) -> None:
        pass

    def _prepare(self) -> None:
        pass

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: an optimizer defines apply_gradients() or _apply_dense()")

    def _finish(self, update_ops: Any, name_scope: Any) -> Any:
        return group(*update_ops, name=name_scope)

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, op_name, NAMES["zeros_initializer"]())

    def _slot(self, var: Any, slot_name: str, op_name: str, initializer: Any) -> Any:
        """The variable beside `var`; names of several end in _1, _2."""
        slots = self.__dict__.setdefault("_slots", {})
        if (var, slot_name) not in slots:
            base = name = f"{var.op.name}/{op_name}"
            known = {v.op.name for v in get_collection(GraphKeys.GLOBAL_VARIABLES)}
            number = 0
            while name in known:
                number += 1
                name = f"{base}_{number}"
            with NAMES["variable_scope"](NAMES["VariableScope"](False)):
                slots[var, slot_name] = get_variable(name, var.shape, var.dtype, initializer, trainable=False)
        return slots[var, slot_name]

    def get_slot(self, var: Any, name: str) -> Any:
        return self.__dict__.get("_slots", {}).get((var, name))

    def get_slot_names(self) -> list[str]:
        return sorted({name for _, name in self.__dict__.get("_slots", {})})

    def variables(self) -> list[Any]:
        return list(self.__dict__.get("_slots", {}).values())


class _RuleOptimizer(Optimizer):
    """An optimizer of C++."""

    _made: Any

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = 1,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        loss = loss() if callable(loss) else loss
        return self._made.compute_gradients(loss, [] if var_list is None else list(var_list), grad_loss)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        update = self._made.apply_gradients(pairs, global_step, name or "")
        constrained = [v for g, v in pairs if g is not None and v.constraint is not None]
        if constrained:
            with NAMES["control_dependencies"]([update]):
                update = group(*[v.assign(v.constraint(v.read_value())) for v in constrained])
        return _kept(update)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._made.slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._made.slot_names()

    def variables(self) -> list[Any]:
        return self._made.variables()


def _optimizer_class(name: str, full: str, doc: str, learning_rate: Any, arguments: Any) -> type[Optimizer]:
    own = [argument for argument, _, _, _ in arguments]
    required = [argument for argument, _, needed, _ in arguments if needed]
    optional = [a for a in own if a not in required]
    signature = signature_of(full, ["learning_rate", *required, *optional, "use_locking", "name"])
    kinds = {"learning_rate": "number"} | {a: kind_of_default(usual) for a, usual, _, _ in arguments}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        values = bind(full, signature, own, args, kwargs)
        refuse_rest(full, signature, values, ["learning_rate", *own])
        for argument in ["learning_rate"] * (learning_rate is None) + required:
            if argument not in values:
                raise TypeError(f"tf.{full}(): missing a required argument: '{argument}'")
        Optimizer.__init__(self, values.get("use_locking", False), values.get("name", name.removesuffix("Optimizer")))
        rate = values.get("learning_rate", learning_rate)
        check_kinds(full, signature, kinds, values)
        given = {k: v() if callable(v) else v for k, v in values.items() if k in own}
        self._learning_rate = self._lr = rate
        # What makes another one of the same arguments, for Keras.
        self._rule = (name, rate() if callable(rate) else rate, given)
        self._made = _core.make_optimizer(*self._rule)

    __init__.__signature__ = constructor(signature)  # type: ignore[attr-defined]
    return type(
        full.rpartition(".")[2],
        (_RuleOptimizer,),
        {"__init__": __init__, "__doc__": doc, "__module__": "systole_tpu.tensorflow.train"},
    )


# Names that TensorFlow has for an optimizer of ours.
_NAMES = {"RmsPropOptimizer": "RMSPropOptimizer"}
for _name, _doc, _rate, _arguments in _core.optimizers():
    _name_of = _NAMES.get(_name, _name)
    _full = f"contrib.opt.{_name_of}" if has_arguments(f"contrib.opt.{_name_of}") else f"train.{_name_of}"
    _class = _optimizer_class(_name, _full, _doc, _rate, _arguments)
    export(_full, f"contrib.opt.{_name_of}")(_class)


@export("contrib.tpu.CrossShardOptimizer", "tpu.CrossShardOptimizer")
class CrossShardOptimizer(_RuleOptimizer):
    """Averages gradients over the cores of a TPU, then applies another optimizer."""

    def __init__(
        self,
        opt: Optimizer,
        reduction: Any = "weighted_mean",
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        super().__init__(False, name)
        if group_assignment is not None:
            raise NotImplementedError("tf.contrib.tpu.CrossShardOptimizer: group_assignment, expected None")
        self._opt = opt
        self._made = _core.cross_shard_optimizer(getattr(opt, "_made", None), opt, reduction == "weighted_sum")

    def get_slot(self, var: Any, name: str) -> Any:
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        return self._opt.variables()


# -- Schedules.


def _number_of(schedule: str, argument: str, value: Any) -> Any:
    """A number, also of a constant of the graph."""
    if not hasattr(value, "_dims"):
        return value
    if getattr(getattr(value, "op", None), "type", "") != "Const":
        raise NotImplementedError(f"tf.train.{schedule}: {argument}, got a tensor, expected a number or a constant")
    return value.op.get_attr("value").item()


def _schedule(name: str, doc: str, arguments: Any) -> Any:
    """tf.train.<name>(learning_rate, global_step, the other arguments, name)."""
    kinds = {a[0]: a[1] for a in arguments}
    own = list(kinds)
    full = f"train.{name}"
    positions = ["learning_rate", "global_step", *own[1:], "name"]
    signature = signature_of(full, positions)

    def schedule(*args: Any, **kwargs: Any) -> Any:
        values = bind(full, signature, own, args, kwargs)
        step = values.get("x", values.get("global_step"))  # x of piecewise_constant
        if step is None:
            raise ValueError(f"global_step is required for {name}.")
        check_kinds(full, signature, kinds, values)
        given = {k: _number_of(name, k, v) for k, v in values.items() if k in own}
        return _core.schedule(name, step, given)

    return described(schedule, name, doc, signature)


for _name, _doc, _arguments in _core.schedules():
    export(f"train.{_name}")(_schedule(_name, _doc, _arguments))
export("train.piecewise_constant_decay")(NAMES["train.piecewise_constant"])


# -- Global steps.


@export("train.get_global_step")
def get_global_step(graph: Any = None) -> Any:
    found = (graph or get_default_graph()).get_collection(GraphKeys.GLOBAL_STEP)
    return found[0] if found else None


@export("train.get_or_create_global_step", "train.create_global_step", "contrib.framework.get_or_create_global_step")
def get_or_create_global_step(graph: Any = None) -> Any:
    return _core.get_or_create_global_step()


@export("train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    return int(sess.run(global_step_tensor))


# -- Savers.


@export("train.Saver")
class Saver:
    """Writes and reads checkpoints, which TensorFlow reads and writes too."""

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: Any = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: Any = None,
    ) -> None:
        if var_list is None and not get_collection(GraphKeys.GLOBAL_VARIABLES):
            raise ValueError("No variables to save")
        self._core = _core.make_saver(
            var_list if var_list is None or isinstance(var_list, dict) else list(var_list),
            int(max_to_keep or 0),
            float(keep_checkpoint_every_n_hours),
        )

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: Any = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        **kwargs: Any,
    ) -> str:
        """Writes a checkpoint and returns its prefix."""
        if global_step is not None and not isinstance(global_step, int):
            global_step = int(sess.run(global_step)) if hasattr(global_step, "_dims") else int(global_step)
        path = os.fspath(save_path)
        prefix = self._core.save(
            sess._core, path if os.path.isabs(path) or "://" in path else os.path.abspath(path), global_step
        )
        return prefix if os.path.isabs(path) or "://" in path else path + prefix[len(os.path.abspath(path)) :]

    def restore(self, sess: Any, save_path: str) -> None:
        """Sets the variables from a checkpoint."""
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        self._core.restore(sess._core, os.fspath(save_path))

    @property
    def last_checkpoints(self) -> list[str]:
        return self._core.last_checkpoints


@export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: str, latest_filename: Any = None) -> str | None:
    return _core.latest_checkpoint(os.fspath(checkpoint_dir)) or None


@export("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    return os.path.exists(checkpoint_prefix + ".index")


# -- Moving averages.


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Averages of variables that follow them: shadow = decay * shadow + (1 - decay) * variable."""

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._name = name
        self._averages: dict[Any, Any] = {}

    def apply(self, var_list: Any = None) -> Any:
        decay = self._decay
        if self._num_updates is not None:
            steps = op("cast", self._num_updates, "float32")
            decay = op("minimum", decay, (1.0 + steps) / (10.0 + steps))
        updates = []
        for variable in trainable_variables() if var_list is None else var_list:
            if variable not in self._averages:
                self._averages[variable] = NAMES["Variable"](
                    variable.initial_value, trainable=False, name=f"{variable.op.name}/{self._name}"
                )
            average = self._averages[variable]
            updates.append(average.assign_sub((1.0 - decay) * (average - variable)))
        return group(*updates, name=self._name)

    def average(self, var: Any) -> Any:
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        return f"{var.op.name}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        return {self.average_name(v): v for v in moving_avg_variables or trainable_variables()}
