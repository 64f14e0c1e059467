"""tf.estimator and TPUEstimator: C++'s, with model_fn and input_fn of Python."""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from systole_tpu import _core

from ._arguments import bind
from ._control import flatten, pack_like
from ._data import Dataset, input_graph
from ._framework import known, notes
from ._registry import NAMES, export
from ._session import target_of, tpu_target


@export("estimator.ModeKeys", "contrib.learn.ModeKeys")
class ModeKeys:
    TRAIN = "train"
    EVAL = "eval"
    PREDICT = INFER = "infer"


@export("estimator.EstimatorSpec")
class EstimatorSpec:
    """What a model_fn returns."""

    def __init__(
        self,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> None:
        self.mode, self.predictions, self.loss, self.train_op = mode, predictions, loss, train_op
        self.eval_metric_ops, self.export_outputs, self.scaffold = eval_metric_ops, export_outputs, scaffold
        self.training_hooks = [*(training_hooks or []), *(training_chief_hooks or [])]
        self.evaluation_hooks, self.prediction_hooks = evaluation_hooks, prediction_hooks
        self.scaffold_fn = None if scaffold is None else lambda: scaffold


@export("contrib.tpu.TPUEstimatorSpec", "estimator.tpu.TPUEstimatorSpec")
class TPUEstimatorSpec(EstimatorSpec):
    """What a model_fn returns to a TPUEstimator."""

    def __init__(
        self,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metrics: Any = None,
        export_outputs: Any = None,
        scaffold_fn: Any = None,
        host_call: Any = None,
        training_hooks: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> None:
        super().__init__(
            mode, predictions, loss, train_op, None, export_outputs, None, training_hooks, None, evaluation_hooks,
            prediction_hooks,
        )  # fmt: skip
        self.eval_metrics, self.scaffold_fn, self.host_call = eval_metrics, scaffold_fn, host_call


def call_metric_fn(metric_fn: Any, structure: Any, tensors: list[Any]) -> dict[str, Any]:
    """eval_metrics' function with its tensors: a list, or a dict of keywords."""
    packed = pack_like(structure, tensors)
    return metric_fn(**packed) if isinstance(packed, dict) else metric_fn(*packed)


# -- Configurations: objects with the arguments as attributes.


def _config(name: str, arguments: dict[str, Any]) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        values = bind(f"estimator.{name}", self.__signature__, [], args, kwargs)
        self.__dict__.update({**arguments, **values})

    def replace(self: Any, **kwargs: Any) -> Any:
        return type(self)(**{**self.__dict__, **kwargs})

    def __repr__(self: Any) -> str:
        return f"{name}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(key, kind, default=value) for key, value in arguments.items()]
    fields = {
        "__init__": __init__, "replace": replace, "_replace": replace, "__repr__": __repr__,
        "__signature__": inspect.Signature(parameters), **_ALONE,
    }  # fmt: skip
    return type(name, (), {**fields, "__module__": "systole_tpu.tensorflow.estimator"})


# What a configuration says of a cluster of servers: there is one, this one.
_ALONE = {
    "cluster_spec": None, "evaluation_master": "", "global_id_in_cluster": 0, "is_chief": True, "num_ps_replicas": 0,
    "num_worker_replicas": 1, "service": None, "task_id": 0, "task_type": "worker",
}  # fmt: skip


_RUN = {
    "model_dir": None, "tf_random_seed": None, "save_summary_steps": 100, "save_checkpoints_steps": None,
    "save_checkpoints_secs": None, "session_config": None, "keep_checkpoint_max": 5,
    "keep_checkpoint_every_n_hours": 10000, "log_step_count_steps": 100, "train_distribute": None, "device_fn": None,
    "protocol": None, "eval_distribute": None, "experimental_distribute": None,
    "experimental_max_worker_delay_secs": None, "session_creation_timeout_secs": 7200,
}  # fmt: skip
_TPU = {
    "iterations_per_loop": 2, "num_shards": None, "num_cores_per_replica": None, "per_host_input_for_training": True,
    "tpu_job_name": None, "initial_infeed_sleep_secs": None, "input_partition_dims": None,
    "eval_training_input_configuration": 2, "experimental_host_call_every_n_steps": 1,
}  # fmt: skip
RunConfig = export("estimator.RunConfig", "contrib.learn.RunConfig")(_config("RunConfig", _RUN))
TPUConfig = export("contrib.tpu.TPUConfig", "estimator.tpu.TPUConfig")(_config("TPUConfig", _TPU))
_TPU_RUN = {"tpu_config": TPUConfig(), "evaluation_master": None, "master": None, "cluster": None, **_RUN}
TPURunConfig = export("contrib.tpu.RunConfig", "estimator.tpu.RunConfig")(_config("RunConfig", _TPU_RUN))


@export("contrib.tpu.InputPipelineConfig", "estimator.tpu.InputPipelineConfig")
class InputPipelineConfig:
    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = 1, 2, 3, 4, 5


def options_of(config: Any, model_dir: Any) -> dict[str, Any]:
    options = dict(getattr(config, "__dict__", {}))
    tpu = options.pop("tpu_config", None)
    if model_dir is not None:
        options["model_dir"] = os.fspath(model_dir)
    elif options.get("model_dir") is not None:
        options["model_dir"] = os.fspath(options["model_dir"])
    cluster = options.pop("cluster", None)
    master = options.get("master")
    if master is None and cluster is not None:
        master = cluster.master()
    options["master"] = target_of(master)
    if tpu is not None:
        options.update({k: v for k, v in vars(tpu).items() if k in ("iterations_per_loop", "num_shards")})
        per_host = tpu.per_host_input_for_training
        options["per_host_input_for_training"] = per_host if not isinstance(per_host, bool) else 2 if per_host else 1
    return options


def _takes(function: Any, names: list[str]) -> list[str]:
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return names
    return [n for n in names if n in parameters]


# The model_fns that are building graphs, innermost last.
_running: list[Any] = []


def in_model_fn() -> bool:
    """Whether a model_fn is building a graph."""
    return bool(_running)


@export("estimator.Estimator")
class Estimator:
    """Trains, evaluates and predicts with a model that a function builds."""

    def __init__(
        self, model_fn: Any, model_dir: Any = None, config: Any = None, params: Any = None, warm_start_from: Any = None
    ) -> None:
        self._setup(model_fn, model_dir, config, params, warm_start_from, {})

    def _setup(
        self, model_fn: Any, model_dir: Any, config: Any, params: Any, warm_start_from: Any, tpu: dict[str, Any]
    ) -> None:
        self._model_fn, self._params = model_fn, dict(params or {})
        self._use_tpu, self._batch_sizes = bool(tpu.get("use_tpu")), tpu
        self._warm_start_from = warm_start_from
        self._config = config if config is not None else RunConfig(model_dir=model_dir)
        self._core = _core.make_estimator(self._build, {**options_of(config, model_dir), **tpu}, warm_start_from)
        self._config = self._config.replace(model_dir=self._core.model_dir)

    @classmethod
    def of_core(cls, core: Any, config: Any = None) -> Estimator:
        """Of an estimator of C++ that has a model."""
        made = object.__new__(cls)
        made._core, made._model_fn, made._params, made._use_tpu = core, None, {}, False
        made._batch_sizes, made._warm_start_from = {}, None
        made._config = (config or RunConfig()).replace(model_dir=core.model_dir)
        return made

    def _parameters(self, batch_size: Any) -> Any:
        params = dict(self._params)
        if batch_size is not None:
            params["batch_size"] = batch_size
        return params

    def _build(self, features: Any, labels: Any, mode: str, batch_size: Any) -> Any:
        values = {"mode": mode, "params": self._parameters(batch_size), "config": self._config}
        given = {n: values[n] for n in _takes(self._model_fn, list(values))}
        if "labels" in inspect.signature(self._model_fn).parameters:
            given["labels"] = labels
        _running.append(self._model_fn)
        try:
            result = self._model_fn(features, **given)
        finally:
            _running.pop()
        if not isinstance(result, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return result

    def _input(self, input_fn: Any, of_core: bool = True) -> Any:
        def call(batch_size: Any) -> Any:
            values = {"params": self._parameters(batch_size), "config": self._config}
            with input_graph(NAMES["get_default_graph"]()):
                result = input_fn(**{n: values[n] for n in _takes(input_fn, list(values))})
            return result._made if of_core and isinstance(result, Dataset) else result

        return call

    def train(
        self, input_fn: Any, hooks: Any = None, steps: Any = None, max_steps: Any = None, saving_listeners: Any = None
    ) -> Estimator:
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        self._core.train(self._input(input_fn), steps, max_steps, hooks)
        return self

    def check(self, input_fn: Any, **keywords: Any) -> Any:
        """What a TPU would make of a training step: systole_tpu.tpu_check.check_estimator()."""
        from systole_tpu import tpu_check

        return tpu_check.check_estimator(self, input_fn, **keywords)

    def evaluate(
        self, input_fn: Any, steps: Any = None, hooks: Any = None, checkpoint_path: Any = None, name: Any = None
    ) -> dict[str, Any]:
        path = checkpoint_path or self._first_values(input_fn, ModeKeys.EVAL)
        return self._core.evaluate(self._input(input_fn), steps, path, name or "", hooks)

    def _first_values(self, input_fn: Any, mode: str) -> str:
        """A checkpoint of the variables' first values where no other is, as in TensorFlow 1.15; "" where one is."""
        if self._model_fn is None or self._warm_start_from or self.latest_checkpoint():
            return ""
        NAMES["logging.info"](
            "Could not find trained model in model_dir: %s, running initialization of the variables.", self.model_dir
        )
        self._made_first = tempfile.TemporaryDirectory()
        batch_size = self._batch_sizes.get("eval_batch_size" if mode == ModeKeys.EVAL else "predict_batch_size")
        graph = NAMES["Graph"]()
        with graph.as_default():
            graph.seed = getattr(self._config, "tf_random_seed", None)
            NAMES["train.get_or_create_global_step"]()
            data = self._input(input_fn, of_core=False)(batch_size)
            if isinstance(data, Dataset):
                data = data.make_one_shot_iterator().get_next()
            features, labels = data if isinstance(data, tuple) else (data, None)
            self._build(features, labels, mode, batch_size)
            saver, first = NAMES["train.Saver"](), NAMES["global_variables_initializer"]()
            with NAMES["Session"](graph=graph) as session:
                session.run(first)
                return saver.save(session, os.path.join(self._made_first.name, "model.ckpt"), global_step=0)

    def predict(
        self,
        input_fn: Any,
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions of one example after the other."""
        keys = [predict_keys] if isinstance(predict_keys, str) else list(predict_keys or [])
        predictions = self._core.predict(
            self._input(input_fn), keys, checkpoint_path or self._first_values(input_fn, ModeKeys.PREDICT),
            yield_single_examples, hooks,
        )  # fmt: skip
        while (element := predictions.next()) is not None:
            yield element[0]

    def export_savedmodel(
        self, export_dir_base: Any, serving_input_receiver_fn: Any, checkpoint_path: Any = None, **kwargs: Any
    ) -> bytes:
        made = self._core.export_saved_model(
            os.fspath(export_dir_base), serving_input_receiver_fn, checkpoint_path or ""
        )
        return made.encode()

    export_saved_model = export_savedmodel

    @property
    def model_dir(self) -> str:
        return self._core.model_dir

    @property
    def config(self) -> Any:
        return self._config

    @property
    def params(self) -> Any:
        return dict(self._params)

    @property
    def model_fn(self) -> Any:
        return self._model_fn

    def latest_checkpoint(self) -> str | None:
        return self._core.latest_checkpoint() or None

    def get_variable_names(self) -> list[str]:
        return self._core.get_variable_names()

    def get_variable_value(self, name: str) -> Any:
        return self._core.get_variable_value(name.removesuffix(":0"))


@export("contrib.tpu.TPUEstimator", "estimator.tpu.TPUEstimator")
class TPUEstimator(Estimator):
    """An estimator whose batches are spread over the cores of a TPU."""

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: Any = None,
        eval_batch_size: Any = None,
        predict_batch_size: Any = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = 0,
    ) -> None:
        if embedding_config_spec is not None:
            raise NotImplementedError("tf.contrib.tpu.TPUEstimator: embedding_config_spec, expected None")
        tpu = {
            "tpu": True,
            "use_tpu": use_tpu,
            "train_batch_size": train_batch_size,
            "eval_batch_size": eval_batch_size,
            "predict_batch_size": predict_batch_size,
        }
        if use_tpu and tpu_target():
            tpu["master"] = tpu_target()
        self._setup(model_fn, model_dir, config, params, warm_start_from, tpu)

    def _parameters(self, batch_size: Any) -> Any:
        return {**super()._parameters(batch_size), "use_tpu": self._use_tpu}


# -- Inputs and serving.


@export("estimator.inputs.numpy_input_fn")
def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: Any = 1,
    shuffle: Any = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Any:
    """An input_fn of arrays."""
    if shuffle is None:
        raise ValueError("shuffle must be provided and explicitly set as boolean")

    def input_fn() -> Any:
        dataset = Dataset.from_tensor_slices(x if y is None else (x, y))
        if shuffle:
            dataset = dataset.shuffle(max(queue_capacity, len(np.asarray(flatten(x)[0]))))
        return dataset.repeat(num_epochs).batch(batch_size).make_one_shot_iterator().get_next()

    return input_fn


class ExportOutput:
    """A signature of an exported model: tensors by name."""

    outputs: dict[str, Any]


@export("estimator.export.PredictOutput")
class PredictOutput(ExportOutput):
    def __init__(self, outputs: Any) -> None:
        self.outputs = outputs if isinstance(outputs, dict) else {"output": outputs}


@export("estimator.export.ClassificationOutput")
class ClassificationOutput(ExportOutput):
    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        self.outputs = {k: v for k, v in (("scores", scores), ("classes", classes)) if v is not None}


@export("estimator.export.RegressionOutput")
class RegressionOutput(ExportOutput):
    def __init__(self, value: Any) -> None:
        self.outputs = {"outputs": value}


@export("estimator.export.ServingInputReceiver", "estimator.export.TensorServingInputReceiver")
class ServingInputReceiver:
    def __init__(self, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None) -> None:
        self.features = features
        self.receiver_tensors = receiver_tensors if isinstance(receiver_tensors, dict) else {"input": receiver_tensors}


@export("estimator.export.build_raw_serving_input_receiver_fn")
def build_raw_serving_input_receiver_fn(features: dict[str, Any], default_batch_size: Any = None) -> Any:
    def receiver() -> Any:
        tensors = {n: NAMES["placeholder"](t.dtype, t.shape, n) for n, t in features.items()}
        return ServingInputReceiver(tensors, tensors)

    return receiver


@export("train.list_variables", "contrib.framework.list_variables")
def list_variables(ckpt_dir_or_file: Any) -> list[Any]:
    """(name, shape) of the variables of a checkpoint."""
    return [tuple(pair) for pair in _core.list_variables(os.fspath(ckpt_dir_or_file))]


@export("train.load_variable", "contrib.framework.load_variable")
def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    return _core.load_variable(os.fspath(ckpt_dir_or_file), name)


@export("train.init_from_checkpoint")
def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    """Variables of the current graph get their first values from a checkpoint.

    The map has names or scopes ("a/", "/") of the checkpoint, and names, scopes or variables of the graph.
    """
    graph = NAMES["get_default_graph"]()
    variables = {v.name.removesuffix(":0"): v for v in NAMES["global_variables"]()}
    saved = {name for name, _ in list_variables(ckpt_dir_or_file)}
    restored = notes(graph, "_restored")
    for source, target in dict(assignment_map).items():
        for name, variable in _assignments(source, target, variables, saved):
            if name not in saved:
                raise ValueError(f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint")
            value = load_variable(ckpt_dir_or_file, name)
            if list(value.shape) != variable.shape.as_list():
                raise ValueError(
                    f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor {name} "
                    f"({list(value.shape)}) from checkpoint reader."
                )
            restored[variable] = value


def _assignments(source: str, target: Any, variables: dict[str, Any], saved: set[str]) -> list[tuple[str, Any]]:
    if not isinstance(target, str):
        return [(source, target)]
    if not target.endswith("/"):
        if target not in variables:
            raise ValueError(f"Tensor {target} is not found in the graph, expected a variable")
        return [(source, variables[target])]
    inside = "" if source == "/" else source
    within = "" if target == "/" else target
    pairs = [(inside + n.removeprefix(within), v) for n, v in variables.items() if n.startswith(within)]
    return [(name, v) for name, v in pairs if name in saved]


def restored() -> list[tuple[Any, Any]]:
    """What init_from_checkpoint gives the variables of the graph that is built."""
    return list(known(NAMES["get_default_graph"](), "_restored").items())
