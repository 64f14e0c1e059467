"""Premade estimators: DNN, Linear and DNNLinearCombined, for classes and for numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._arguments import bind, constructor, refuse_rest, signature_of
from ._data import Dataset
from ._estimator import Estimator, EstimatorSpec, ModeKeys, ServingInputReceiver
from ._feature_columns import input_layer, linear_model, number_of_word, numbers_of_texts
from ._framework import group, op
from ._registry import NAMES, export
from ._variables import variable_scope

_NAMES = {
    "Adagrad": "AdagradOptimizer", "Adam": "AdamOptimizer", "Ftrl": "FtrlOptimizer", "RMSProp": "RMSPropOptimizer",
    "SGD": "GradientDescentOptimizer",
}  # fmt: skip


def _optimizer(optimizer: Any, rate: float) -> Any:
    """An optimizer, one of a name with TensorFlow's rate, or what a function returns."""
    if isinstance(optimizer, str):
        return NAMES[f"train.{_NAMES[optimizer]}"](rate)
    return optimizer() if callable(optimizer) else optimizer


class _Head:
    """What a premade estimator makes of logits [batch, units]."""

    def __init__(self, classes: int | None, vocabulary: Any, weight_column: Any, units: int) -> None:
        self._classes, self._vocabulary, self.weight_column = classes, vocabulary, weight_column
        self.units = units if classes is None else 1 if classes == 2 else classes

    def labels(self, labels: Any) -> Any:
        """Labels as numbers: where they are read, since devices hold no texts."""
        if self._vocabulary is None:
            return labels
        return op("reshape", number_of_word(labels, list(self._vocabulary)), [-1, 1])

    def words(self) -> list[bytes] | None:
        """The names of the classes; None for numbers."""
        if self._classes is None:
            return None
        words = self._vocabulary or range(self._classes)
        return [w if isinstance(w, bytes) else str(w).encode() for w in words]

    def spec(self, features: Any, mode: str, logits: Any, labels: Any, train: Any, part: str = "") -> Any:
        """`part`: "dnn/" or "linear/" for an estimator of that part alone. The loss has TensorFlow's name, which
        hooks log."""
        predictions = self._predictions(logits)
        if mode == ModeKeys.PREDICT:
            output = NAMES["estimator.export.PredictOutput"](predictions)
            return EstimatorSpec(mode, predictions, export_outputs={"serving_default": output, "predict": output})
        labels, losses = self._losses(logits, labels)
        weights = 1.0
        if self.weight_column is not None:
            weights = op("reshape", op("cast", features[getattr(self.weight_column, "key", self.weight_column)],
                                       "float32"), [-1, 1])  # fmt: skip
        with NAMES["name_scope"](f"{part}head/"):
            with NAMES["name_scope"]("weighted_loss"):
                total = op("reduce_sum", losses * weights, name="Sum")
            op("truediv", total, op("reduce_sum", op("ones_like", losses) * weights), name="truediv")
        metrics = self._metrics(labels, predictions, losses, weights)
        step = train(total) if mode == ModeKeys.TRAIN else None
        return EstimatorSpec(mode, predictions, total, step, metrics)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        if self._classes is None:
            return {"predictions": logits}
        made = {"logits": logits}
        if self._classes == 2:
            made["logistic"] = op("sigmoid", logits)
        two = op("concat", [op("zeros_like", logits), logits], 1) if self._classes == 2 else logits
        made["probabilities"] = op("nn.softmax", two)
        made["class_ids"] = op("expand_dims", op("argmax", two, 1), 1)
        return made

    def _losses(self, logits: Any, labels: Any) -> tuple[Any, Any]:
        """Labels [batch, units] and losses [batch, 1] or [batch, units]."""
        if self._classes is None:
            labels = op("reshape", op("cast", labels, "float32"), [-1, self.units])
            return labels, op("square", logits - labels)
        labels = op("reshape", labels, [-1, 1])
        if self._classes == 2:
            wanted = op("cast", labels, "float32")
            return wanted, op("nn.sigmoid_cross_entropy_with_logits", labels=wanted, logits=logits)
        flat = op("cast", op("reshape", labels, [-1]), "int32")
        losses = op("nn.sparse_softmax_cross_entropy_with_logits", labels=flat, logits=logits)
        return labels, op("reshape", losses, [-1, 1])

    def _metrics(self, labels: Any, predictions: Any, losses: Any, weights: Any) -> dict[str, Any]:
        mean = NAMES["metrics.mean"]
        metrics = {"average_loss": mean(losses, weights)}
        if self._classes is None:
            metrics["label/mean"] = mean(labels, weights)
            metrics["prediction/mean"] = mean(predictions["predictions"], weights)
            return metrics
        ids = predictions["class_ids"]
        metrics["accuracy"] = NAMES["metrics.accuracy"](op("cast", labels, "int64"), ids, weights)
        if self._classes == 2:
            p = predictions["logistic"]
            metrics["precision"] = NAMES["metrics.precision"](labels, ids, weights)
            metrics["recall"] = NAMES["metrics.recall"](labels, ids, weights)
            metrics["prediction/mean"] = mean(p, weights)
            metrics["label/mean"] = mean(labels, weights)
            value, update = mean(labels, weights)
            baseline = op("maximum", value, 1.0 - value)
            metrics["accuracy_baseline"] = (baseline, update)
            metrics["auc"] = NAMES["metrics.auc"](labels, p, weights)
        return metrics


class _Network:
    """The logits of a premade estimator, and how its parts are trained."""

    def __init__(self, head: _Head, linear: dict[str, Any] | None, deep: dict[str, Any] | None) -> None:
        self.head, self.linear, self.deep = head, linear, deep
        self.columns = [c for part in (linear, deep) if part for c in _listed(part["columns"])]

    def __call__(self, features: Any, labels: Any, mode: str) -> Any:
        logits: Any = 0.0
        if self.deep:
            with variable_scope("dnn"):
                logits = self._deep(features, mode)
        if self.linear:
            with variable_scope("linear"):
                logits = linear_model(features, self.linear["columns"], self.head.units) + logits
        part = "" if self.deep and self.linear else "dnn/" if self.deep else "linear/"
        return self.head.spec(features, mode, logits, labels, self._train, part)

    def _deep(self, features: Any, mode: str) -> Any:
        given = self.deep or {}
        with variable_scope("input_from_feature_columns"):
            x = input_layer(features, given["columns"])
        for i, size in enumerate(given["hidden_units"]):
            activation = given["activation_fn"] or NAMES["nn.relu"]
            x = NAMES["layers.dense"](x, size, activation=activation, name=f"hiddenlayer_{i}")
            if given["dropout"] and mode == ModeKeys.TRAIN:
                x = NAMES["layers.dropout"](x, given["dropout"], training=True)
        return NAMES["layers.dense"](x, self.head.units, name="logits")

    def _train(self, loss: Any) -> Any:
        """A step of both parts' optimizers."""
        steps = []
        for scope, part in (("dnn", self.deep), ("linear", self.linear)):
            if part:
                variables = NAMES["trainable_variables"](scope)
                steps.append(_optimizer(part["optimizer"], part["rate"]).minimize(loss, var_list=variables))
        with NAMES["control_dependencies"](steps):
            return group(NAMES["train.get_or_create_global_step"]().assign_add(1))


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, (list, tuple)) else [columns]


class _Premade(Estimator):
    _network: _Network

    def _begin(self, network: _Network, model_dir: Any, config: Any, warm_start_from: Any) -> None:
        self._network = network
        super().__init__(network.__call__, model_dir, config, None, warm_start_from)

    def _numbers(self, features: Any, labels: Any = None) -> Any:
        made = numbers_of_texts(self._network.columns, dict(features))
        return made if labels is None else (made, self._network.head.labels(labels))

    def _input(self, input_fn: Any) -> Any:
        call = super()._input(input_fn)

        def read(batch_size: Any) -> Any:
            result = call(batch_size)
            if isinstance(result, tuple):
                return self._numbers(*result)
            if isinstance(result, dict):
                return self._numbers(result)
            return Dataset(result).map(self._numbers)._made

        return read

    def export_savedmodel(self, export_dir_base: Any, serving_input_receiver_fn: Any, *args: Any, **kwargs: Any) -> Any:
        def receiver() -> ServingInputReceiver:
            made = serving_input_receiver_fn()
            return ServingInputReceiver(self._numbers(made.features), made.receiver_tensors)

        return super().export_savedmodel(export_dir_base, receiver, *args, **kwargs)

    export_saved_model = export_savedmodel

    def predict(self, input_fn: Any, predict_keys: Any = None, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The predictions of one example after the other, with the names of their classes."""
        words = self._network.head.words()
        asked = [predict_keys] if isinstance(predict_keys, str) else predict_keys
        named = words is not None and (asked is None or "classes" in asked)
        keys = asked and [*[k for k in asked if k != "classes"], *(["class_ids"] if named else [])]
        import numpy as np

        for made in super().predict(input_fn, keys, *args, **kwargs):
            if named and words is not None:
                ids = np.asarray(made["class_ids"])
                made["classes"] = np.array([words[i] for i in ids.ravel()], dtype=object).reshape(ids.shape)
                if asked is not None and "class_ids" not in asked:
                    del made["class_ids"]
            yield made


# TensorFlow's rates of optimizers that have none.
_DEEP_RATE, _LINEAR_RATE, _BESIDE_RATE = 0.05, 0.2, 0.005


def _linear_rate(columns: Any, most: float) -> float:
    return min(most, max(len(_listed(columns)), 1) ** -0.5)


_TAKEN = (
    "hidden_units", "feature_columns", "model_dir", "n_classes", "weight_column", "label_vocabulary", "label_dimension",
    "optimizer", "activation_fn", "dropout", "config", "warm_start_from", "linear_feature_columns", "linear_optimizer",
    "dnn_feature_columns", "dnn_optimizer", "dnn_hidden_units", "dnn_activation_fn", "dnn_dropout",
    "linear_sparse_combiner", "sparse_combiner",
)  # fmt: skip


def _network(kind: str, classifies: bool, given: dict[str, Any]) -> _Network:
    """Of the arguments of a constructor."""

    def part(prefix: str, optimizer: str, rate: float) -> dict[str, Any] | None:
        own = {k.removeprefix(prefix): v for k, v in given.items() if k.startswith(prefix)}
        if not own.get("feature_columns"):
            return None
        names = ("hidden_units", "activation_fn", "dropout")
        made = {"columns": own["feature_columns"], "optimizer": own.get("optimizer") or optimizer, "rate": rate}
        return {**made, **{name: own.get(name) for name in names}}

    wide = _BESIDE_RATE if kind == "both" else _LINEAR_RATE
    rate = _linear_rate(given.get("linear_feature_columns" if kind == "both" else "feature_columns") or [], wide)
    linear = None if kind == "dnn" else part("linear_" if kind == "both" else "", "Ftrl", rate)
    deep = None if kind == "linear" else part("dnn_" if kind == "both" else "", "Adagrad", _DEEP_RATE)
    if not linear and not deep:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    classes = given.get("n_classes", 2) if classifies else None
    head = _Head(classes, given.get("label_vocabulary"), given.get("weight_column"), given.get("label_dimension", 1))
    return _Network(head, linear, deep)


def _premade(name: str, classifies: bool, kind: str) -> type:
    full = f"estimator.{name}"
    signature = signature_of(full, [])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = bind(full, signature, [], args, kwargs)
        refuse_rest(full, signature, given, _TAKEN)
        network = _network(kind, classifies, given)
        self._begin(network, given.get("model_dir"), given.get("config"), given.get("warm_start_from"))

    __init__.__signature__ = constructor(signature)  # type: ignore[attr-defined]
    return type(name, (_Premade,), {"__init__": __init__, "__module__": "systole_tpu.tensorflow.estimator"})


for _prefix, _kind in (("DNN", "dnn"), ("Linear", "linear"), ("DNNLinearCombined", "both")):
    for _suffix, _classifies in (("Classifier", True), ("Regressor", False)):
        _name = f"{_prefix}{_suffix}"
        export(f"estimator.{_name}")(_premade(_name, _classifies, _kind))
