"""tf.feature_column, and the premade estimators that are made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._estimator import Estimator, EstimatorSpec, ModeKeys
from ._framework import op
from ._registry import NAMES, export
from ._variables import get_variable, variable_scope

# -- Columns. Each gives [batch, width] of the features.


class _Column:
    key = ""

    @property
    def name(self) -> str:
        return self.key


class _Numeric(_Column):
    def __init__(self, key: str, shape: Any, default_value: Any, dtype: Any, normalizer_fn: Any) -> None:
        self.key, self.shape, self._normalizer, self.dtype = key, shape, normalizer_fn, dtype
        self.default_value = default_value

    def dense(self, features: Any) -> Any:
        value = op("cast", features[self.key], "float32")
        value = op("reshape", value, [-1, int(np.prod(self.shape))])
        return self._normalizer(value) if self._normalizer else value

    def spec(self) -> dict[str, Any]:
        return {self.key: NAMES["FixedLenFeature"](list(self.shape), self.dtype, self.default_value)}


class _Categorical(_Column):
    """A class of each example: one-hot rows."""

    def __init__(self, key: str, count: int, dtype: Any) -> None:
        self.key, self.count, self.dtype = key, count, dtype

    def numbers(self, features: Any) -> Any:
        return op("cast", op("reshape", features[self.key], [-1]), "int32")

    def one_hot(self, features: Any) -> Any:
        return op("one_hot", self.numbers(features), self.count)

    def spec(self) -> dict[str, Any]:
        return {self.key: NAMES["FixedLenFeature"]([1], self.dtype)}


class _Vocabulary(_Categorical):
    def __init__(self, key: str, words: list[Any], dtype: Any) -> None:
        super().__init__(key, len(words), dtype)
        self._words = words

    def one_hot(self, features: Any) -> Any:
        same = op("equal", op("reshape", features[self.key], [-1, 1]), op("constant", [self._words]))
        return op("cast", same, "float32")


class _Hashed(_Categorical):
    def numbers(self, features: Any) -> Any:
        value = op("reshape", features[self.key], [-1])
        if value.dtype != "string":
            value = op("as_string", value)
        return op("cast", op("string_to_hash_bucket_fast", value, self.count), "int32")


class _Bucketized(_Categorical):
    def __init__(self, source: _Numeric, boundaries: Any) -> None:
        super().__init__(source.key, len(boundaries) + 1, source.dtype)
        self._source, self._boundaries = source, [float(b) for b in boundaries]

    @property
    def name(self) -> str:
        return f"{self.key}_bucketized"

    def numbers(self, features: Any) -> Any:
        above = op("greater_equal", self._source.dense(features), op("constant", [self._boundaries]))
        return op("reduce_sum", op("cast", above, "int32"), 1)

    def dense(self, features: Any) -> Any:
        return self.one_hot(features)

    def spec(self) -> dict[str, Any]:
        return self._source.spec()


class _Indicator(_Column):
    def __init__(self, source: _Categorical) -> None:
        self._source, self.key = source, source.key

    @property
    def name(self) -> str:
        return f"{self._source.name}_indicator"

    def dense(self, features: Any) -> Any:
        return self._source.one_hot(features)

    def spec(self) -> dict[str, Any]:
        return self._source.spec()


class _Embedding(_Indicator):
    def __init__(self, source: _Categorical, dimension: int, initializer: Any) -> None:
        super().__init__(source)
        self._dimension, self._initializer = dimension, initializer

    @property
    def name(self) -> str:
        return f"{self._source.name}_embedding"

    def dense(self, features: Any) -> Any:
        initializer = self._initializer or NAMES["truncated_normal_initializer"](0.0, self._dimension**-0.5)
        table = get_variable(
            "embedding_weights", [self._source.count, self._dimension], "float32", initializer=initializer
        )
        return op("matmul", self._source.one_hot(features), table)


@export("feature_column.numeric_column")
def numeric_column(
    key: str, shape: Any = (1,), default_value: Any = None, dtype: Any = "float32", normalizer_fn: Any = None
) -> Any:
    """The numbers of a feature."""
    return _Numeric(key, [shape] if isinstance(shape, int) else list(shape), default_value, dtype, normalizer_fn)


@export("feature_column.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """The interval that a number lies in."""
    return _Bucketized(source_column, boundaries)


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(key: str, num_buckets: int, default_value: Any = None) -> Any:
    return _Categorical(key, int(num_buckets), "int64")


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> Any:
    words = list(vocabulary_list)
    return _Vocabulary(key, words, dtype or ("string" if isinstance(words[0], (str, bytes)) else "int64"))


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = "string") -> Any:
    return _Hashed(key, int(hash_bucket_size), dtype)


@export("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> Any:
    """One-hot rows of a class."""
    return _Indicator(categorical_column)


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: Any, dimension: int, combiner: str = "mean", initializer: Any = None, **kwargs: Any
) -> Any:
    """A vector of a class, which is trained."""
    return _Embedding(categorical_column, int(dimension), initializer)


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """What parse_example needs to read the features of columns."""
    return {key: value for column in feature_columns for key, value in column.spec().items()}


def _sorted(columns: Any) -> list[Any]:
    return sorted(columns if isinstance(columns, (list, tuple)) else [columns], key=lambda c: c.name)


@export("feature_column.input_layer")
def input_layer(features: Any, feature_columns: Any, *args: Any, **kwargs: Any) -> Any:
    """[batch, width]: the columns side by side, in the order of their names."""
    parts = []
    with variable_scope(None, "input_layer"):
        for column in _sorted(feature_columns):
            with variable_scope(column.name):
                parts.append(column.dense(features))
    return op("concat", parts, 1) if len(parts) > 1 else parts[0]


@export("feature_column.linear_model")
def linear_model(features: Any, feature_columns: Any, units: int = 1, **kwargs: Any) -> Any:
    """A sum of weights of the columns, and a bias."""
    with variable_scope(None, "linear_model"):
        total = get_variable("bias_weights", [units], initializer=NAMES["zeros_initializer"]())
        for column in _sorted(feature_columns):
            x = column.dense(features) if hasattr(column, "dense") else column.one_hot(features)
            with variable_scope(column.name):
                kernel = get_variable("weights", [int(x.shape[1]), units], initializer=NAMES["zeros_initializer"]())
            total = op("matmul", x, kernel) + total
    return total


# -- Premade estimators.


def _optimizer(optimizer: Any, usual: Any) -> Any:
    if optimizer is None or optimizer == "Ftrl" or optimizer == "Adagrad":
        return usual()
    names = {"Adam": "AdamOptimizer", "SGD": "GradientDescentOptimizer", "RMSProp": "RMSPropOptimizer"}
    if isinstance(optimizer, str):
        return NAMES[f"train.{names[optimizer]}"](0.001 if optimizer != "SGD" else 0.05)
    return optimizer() if callable(optimizer) else optimizer


class _Head:
    """What a premade estimator makes of logits."""

    def __init__(self, classes: int | None, vocabulary: Any = None) -> None:
        self._classes, self._vocabulary = classes, vocabulary
        self.units = 1 if classes is None or classes == 2 else classes

    def spec(self, mode: str, logits: Any, labels: Any, optimizer: Any) -> Any:
        predictions = self._predictions(logits)
        if mode == ModeKeys.PREDICT:
            output = NAMES["estimator.export.PredictOutput"](predictions)
            return EstimatorSpec(mode, predictions, export_outputs={"serving_default": output})
        labels, loss = self._loss(logits, labels)
        average = op("reduce_mean", loss)
        metrics = {"average_loss": NAMES["metrics.mean"](loss)}
        if self._classes is None:
            metrics["label/mean"] = NAMES["metrics.mean"](labels)
        else:
            metrics["accuracy"] = NAMES["metrics.accuracy"](labels, predictions["class_ids"])
        total = op("reduce_sum", loss)
        step = None
        if mode == ModeKeys.TRAIN:
            step = optimizer.minimize(total, global_step=NAMES["train.get_or_create_global_step"]())
        return EstimatorSpec(mode, predictions, total if mode == ModeKeys.TRAIN else average, step, metrics)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        if self._classes is None:
            return {"predictions": logits}
        two = op("concat", [op("zeros_like", logits), logits], 1) if self._classes == 2 else logits
        p = op("nn.softmax", two)
        ids = op("expand_dims", op("argmax", p, 1), 1)
        return {"logits": logits, "probabilities": p, "class_ids": ids}

    def _loss(self, logits: Any, labels: Any) -> tuple[Any, Any]:
        labels = op("reshape", labels, [-1, 1])
        if self._vocabulary is not None:
            same = op("equal", labels, op("constant", [list(self._vocabulary)]))
            labels = op("expand_dims", op("argmax", op("cast", same, "int32"), 1), 1)
        if self._classes is None:
            labels = op("cast", labels, "float32")
            return labels, op("square", logits - labels)
        if self._classes == 2:
            wanted = op("cast", labels, "float32")
            return labels, op("nn.sigmoid_cross_entropy_with_logits", labels=wanted, logits=logits)
        flat = op("cast", op("reshape", labels, [-1]), "int32")
        return labels, op("nn.sparse_softmax_cross_entropy_with_logits", labels=flat, logits=logits)


def _deep(features: Any, columns: Any, hidden: Any, units: int, activation: Any, dropout: Any, mode: str) -> Any:
    with variable_scope("dnn"):
        x = input_layer(features, columns)
        for i, size in enumerate(hidden):
            x = NAMES["layers.dense"](x, size, activation=activation, name=f"hiddenlayer_{i}")
            if dropout and mode == ModeKeys.TRAIN:
                x = NAMES["layers.dropout"](x, dropout, training=True)
        return NAMES["layers.dense"](x, units, name="logits")


def _premade(name: str, classifies: bool, kind: str) -> type:
    def __init__(
        self: Any,
        hidden_units: Any = None,
        feature_columns: Any = None,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = None,
        activation_fn: Any = None,
        dropout: Any = None,
        config: Any = None,
        linear_feature_columns: Any = None,
        dnn_feature_columns: Any = None,
        dnn_hidden_units: Any = None,
        **kwargs: Any,
    ) -> None:
        if kind == "linear" and feature_columns is None:
            feature_columns, hidden_units = hidden_units, None
        head = _Head(n_classes if classifies else None, label_vocabulary)

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            activation = activation_fn or NAMES["nn.relu"]
            logits: Any = 0.0
            if kind != "linear":
                columns = dnn_feature_columns or feature_columns
                logits = _deep(
                    features, columns, dnn_hidden_units or hidden_units, head.units, activation, dropout, mode
                )
            if kind != "dnn":
                with variable_scope("linear"):
                    logits = linear_model(features, linear_feature_columns or feature_columns, head.units) + logits
            usual = NAMES["train.FtrlOptimizer" if kind == "linear" else "train.AdagradOptimizer"]
            return head.spec(
                mode, logits, labels, _optimizer(optimizer, lambda: usual(0.2 if kind == "linear" else 0.05))
            )

        Estimator.__init__(self, model_fn, model_dir, config)

    return type(name, (Estimator,), {"__init__": __init__, "__module__": "systole_tpu.tensorflow.estimator"})


for _prefix, _kind in (("DNN", "dnn"), ("Linear", "linear"), ("DNNLinearCombined", "both")):
    for _suffix, _classifies in (("Classifier", True), ("Regressor", False)):
        _name = f"{_prefix}{_suffix}"
        export(f"estimator.{_name}")(_premade(_name, _classifies, _kind))
