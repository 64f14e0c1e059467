"""tf.estimator.train_and_evaluate and its specifications, exporters, and inputs that are parsed."""

from __future__ import annotations

import collections
import os
import time
from typing import Any

from ._estimator import ServingInputReceiver
from ._registry import NAMES, export

_Train = collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])
_EVAL_FIELDS = ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs"]
_Eval = collections.namedtuple("EvalSpec", _EVAL_FIELDS)


@export("estimator.TrainSpec")
class TrainSpec(_Train):
    """What train_and_evaluate() trains with."""

    def __new__(cls, input_fn: Any, max_steps: Any = None, hooks: Any = None, saving_listeners: Any = None) -> Any:
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, tuple(hooks or ()), tuple(saving_listeners or ()))


@export("estimator.EvalSpec")
class EvalSpec(_Eval):
    """What train_and_evaluate() evaluates with."""

    def __new__(
        cls,
        input_fn: Any,
        steps: Any = 100,
        name: Any = None,
        hooks: Any = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> Any:
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        several = exporters if isinstance(exporters, (list, tuple)) else [exporters] if exporters else []
        return super().__new__(
            cls, input_fn, steps, name, tuple(hooks or ()), tuple(several), start_delay_secs, throttle_secs
        )


@export("estimator.Exporter")
class Exporter:
    """Writes models after evaluations."""

    name = ""

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        raise NotImplementedError


@export("estimator.LatestExporter")
class LatestExporter(Exporter):
    """Writes the model after each evaluation, and keeps the last ones."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Any,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: Any = 5,
    ) -> None:
        self.name, self._receiver, self._keep = name, serving_input_receiver_fn, exports_to_keep

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        made = estimator.export_saved_model(export_path, self._receiver, checkpoint_path=checkpoint_path)
        if self._keep:
            for old in sorted(e for e in os.listdir(export_path) if e.isdigit())[: -self._keep]:
                NAMES["gfile.DeleteRecursively"](os.path.join(export_path, old))
        return made


@export("estimator.FinalExporter")
class FinalExporter(LatestExporter):
    """Writes the model once, after training."""

    def __init__(
        self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, exports_to_keep=None)

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if not is_the_final_export:
            return None
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)


def _smaller_loss(best_eval_result: Any, current_eval_result: Any) -> bool:
    return current_eval_result["loss"] < best_eval_result["loss"]


@export("estimator.BestExporter")
class BestExporter(LatestExporter):
    """Writes the model when an evaluation is the best so far."""

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str = "eval/*.tfevents.*",
        compare_fn: Any = _smaller_loss,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: Any = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, exports_to_keep=exports_to_keep)
        self._better, self._best = compare_fn, None

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: Any, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if self._best is not None and not self._better(best_eval_result=self._best, current_eval_result=eval_result):
            return None
        self._best = eval_result
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)


@export("estimator.train_and_evaluate")
def train_and_evaluate(estimator: Any, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """Trains, and evaluates whenever a checkpoint was written. Returns the last (metrics, exports)."""
    every = getattr(estimator.config, "save_checkpoints_steps", None)
    step = NAMES["python.estimator.estimator._load_global_step_from_checkpoint_dir"](estimator.model_dir)
    last, evaluated, results = train_spec.max_steps, -1e9, None
    while True:
        # By time there is one evaluation, after training.
        target = last if every is None else step + every if last is None else min(step + every, last)
        estimator.train(train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=target)
        before, step = step, int(estimator.get_variable_value("global_step"))
        ended = step == before or target is None or step < target or step == last
        if ended or time.monotonic() - evaluated >= eval_spec.throttle_secs:
            results = _evaluate_and_export(estimator, eval_spec, ended)
            evaluated = time.monotonic()
        if ended:
            return results


def _evaluate_and_export(estimator: Any, spec: EvalSpec, ended: bool) -> tuple[Any, list[Any]]:
    metrics = estimator.evaluate(spec.input_fn, steps=spec.steps, name=spec.name, hooks=list(spec.hooks))
    exports = []
    for exporter in spec.exporters:
        path = os.path.join(estimator.model_dir, "export", exporter.name)
        exports.append(exporter.export(estimator, path, estimator.latest_checkpoint(), metrics, ended))
    return metrics, exports


@export("estimator.export.build_parsing_serving_input_receiver_fn")
def build_parsing_serving_input_receiver_fn(feature_spec: Any, default_batch_size: Any = None) -> Any:
    """A receiver of serialized examples."""

    def receiver() -> ServingInputReceiver:
        serialized = NAMES["placeholder"]("string", [default_batch_size], "input_example_tensor")
        return ServingInputReceiver(NAMES["parse_example"](serialized, feature_spec), {"examples": serialized})

    return receiver


@export("estimator.inputs.pandas_input_fn")
def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: Any = 1,
    shuffle: Any = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Any:
    """An input_fn of the columns of a DataFrame."""
    columns = {name: x[name].values for name in x.columns}
    labels = None if y is None else {c: y[c].values for c in y.columns} if hasattr(y, "columns") else y.values
    return NAMES["estimator.inputs.numpy_input_fn"](
        columns, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads
    )


@export("estimator.WarmStartSettings")
class WarmStartSettings:
    """A checkpoint that variables begin with."""

    def __init__(
        self,
        ckpt_to_initialize_from: str,
        vars_to_warm_start: Any = ".*",
        var_name_to_vocab_info: Any = None,
        var_name_to_prev_var_name: Any = None,
    ) -> None:
        self.ckpt_to_initialize_from, self.vars_to_warm_start = ckpt_to_initialize_from, vars_to_warm_start
        self.var_name_to_prev_var_name = var_name_to_prev_var_name or {}
        if var_name_to_vocab_info:
            raise NotImplementedError("tf.estimator.WarmStartSettings: var_name_to_vocab_info, expected None")
