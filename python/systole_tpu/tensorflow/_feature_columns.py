"""tf.feature_column: what is made of the features of examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from systole_tpu import _core

from ._arguments import taking
from ._framework import op
from ._registry import NAMES, export
from ._variables import get_variable, variable_scope

# Numbers of classes that were computed from texts with the input: devices hold numbers. See numbers_of_texts().
_PREFIX = "numbers of "


class _Column:
    """Gives [batch, width] of the features."""

    key = ""

    @property
    def name(self) -> str:
        return self.key

    def classes(self) -> list[Any]:
        """The columns of classes that it is made of."""
        return []

    def dense(self, features: Any) -> Any:
        raise ValueError(
            "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
            f"embedding_column or indicator_column. Given: {self.name}"
        )


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
    """A class of each example; a number outside of [0, count) is none."""

    def __init__(self, key: str, count: int, dtype: Any, default_value: Any = None) -> None:
        self.key, self.count, self.dtype, self._default = key, count, dtype, default_value

    def classes(self) -> list[Any]:
        return [self]

    def numbers(self, features: Any) -> Any:
        """[batch] of the classes' numbers."""
        known = features.get(_PREFIX + self.name)
        return op("reshape", known, [-1]) if known is not None else self._numbers(features)

    def _numbers(self, features: Any) -> Any:
        found = op("cast", op("reshape", features[self.key], [-1]), "int64")
        if self._default is None:
            return found
        inside = op("logical_and", op("greater_equal", found, 0), op("less", found, self.count))
        return op("where_v2", inside, found, op("constant", self._default, "int64"))

    def one_hot(self, features: Any) -> Any:
        return op("one_hot", op("cast", self.numbers(features), "int32"), self.count)

    def reads_texts(self, features: Any) -> bool:
        return getattr(features.get(self.key), "dtype", None) == "string"

    def spec(self) -> dict[str, Any]:
        return {self.key: NAMES["FixedLenFeature"]([1], self.dtype)}


def number_of_word(values: Any, words: Any, default_value: int = -1) -> Any:
    """The place of each value of a vector among the words."""
    same = op("equal", op("reshape", values, [-1, 1]), op("constant", [words]))
    place = op("argmax", op("cast", same, "int32"), 1)
    return op("where_v2", op("reduce_any", same, 1), place, op("constant", default_value, "int64"))


class _Vocabulary(_Categorical):
    def __init__(self, key: str, words: list[Any], dtype: Any, default_value: int, buckets: int) -> None:
        super().__init__(key, len(words) + buckets, dtype)
        self._words, self._outside, self._buckets = words, default_value, buckets

    def _numbers(self, features: Any) -> Any:
        values = op("reshape", features[self.key], [-1])
        found = number_of_word(values, self._words, self._outside)
        if not self._buckets:
            return found
        texts = values if values.dtype == "string" else op("as_string", values)
        bucket = op("string_to_hash_bucket_fast", texts, self._buckets) + len(self._words)
        return op("where_v2", op("less", found, 0), bucket, found)


class _Hashed(_Categorical):
    def _numbers(self, features: Any) -> Any:
        value = op("reshape", features[self.key], [-1])
        if value.dtype != "string":
            value = op("as_string", value)
        return op("string_to_hash_bucket_fast", value, self.count)

    def reads_texts(self, features: Any) -> bool:
        return self.key in features  # numbers are hashed as texts


class _Bucketized(_Categorical):
    def __init__(self, source: _Numeric, boundaries: Any) -> None:
        super().__init__(source.key, len(boundaries) + 1, source.dtype)
        self._source, self._boundaries = source, [float(b) for b in boundaries]

    @property
    def name(self) -> str:
        return f"{self.key}_bucketized"

    def _numbers(self, features: Any) -> Any:
        above = op("greater_equal", self._source.dense(features), op("constant", [self._boundaries]))
        return op("reduce_sum", op("cast", above, "int64"), 1)

    def dense(self, features: Any) -> Any:
        return self.one_hot(features)

    def spec(self) -> dict[str, Any]:
        return self._source.spec()


class _Crossed(_Categorical):
    """Each combination of the classes of columns, in buckets of hashes."""

    def __init__(self, keys: list[Any], count: int, hash_key: Any) -> None:
        super().__init__("", count, "int64")
        self._keys, self._hash_key = keys, 0xDECAFCAFFE if hash_key is None else int(hash_key)

    @property
    def name(self) -> str:
        return "_X_".join(sorted(getattr(k, "name", k) for k in self._keys))

    def _leaves(self) -> list[Any]:
        return [leaf for k in self._keys for leaf in (k._leaves() if isinstance(k, _Crossed) else [k])]

    def _numbers(self, features: Any) -> Any:
        # As TensorFlow orders them: columns, then features.
        parts = sorted(self._leaves(), key=lambda part: isinstance(part, str))
        values = []
        for part in parts:
            value = op("reshape", features[part], [-1]) if isinstance(part, str) else part.numbers(features)
            values.append(value if value.dtype == "string" else op("cast", value, "int64"))
        return _core.crossed_buckets(values, self.count, self._hash_key)

    def reads_texts(self, features: Any) -> bool:
        return True  # hashes are computed where texts are

    def spec(self) -> dict[str, Any]:
        specs: dict[str, Any] = {}
        for part in self._leaves():
            usual = {part: NAMES["FixedLenFeature"]([1], "string")} if isinstance(part, str) else part.spec()
            specs.update(usual)
        return specs


class _Indicator(_Column):
    def __init__(self, source: _Categorical) -> None:
        self._source, self.key = source, source.key

    @property
    def name(self) -> str:
        return f"{self._source.name}_indicator"

    def classes(self) -> list[Any]:
        return [self._source]

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
    return _Categorical(key, int(num_buckets), "int64", default_value)


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> Any:
    words = list(vocabulary_list)
    usual = "string" if isinstance(words[0], (str, bytes)) else "int64"
    return _Vocabulary(key, words, dtype or usual, default_value, int(num_oov_buckets))


@export("feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: Any = None,
    num_oov_buckets: int = 0,
    default_value: Any = None,
    dtype: Any = "string",
) -> Any:
    """Words of a file, a line each."""
    with NAMES["gfile.GFile"](vocabulary_file) as file:
        words = [line.rstrip("\n") for line in file][:vocabulary_size]
    outside = -1 if default_value is None else default_value
    return _Vocabulary(key, words, dtype, outside, int(num_oov_buckets))


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = "string") -> Any:
    return _Hashed(key, int(hash_bucket_size), dtype)


@export("feature_column.crossed_column")
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: Any = None) -> Any:
    """The combinations of features and of columns of classes; buckets are TensorFlow's."""
    if len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if isinstance(key, _Hashed) or not isinstance(key, (str, _Categorical)):
            raise ValueError(
                f"Unsupported key type. All keys must be either string, or categorical column. Given: {key}"
            )
    return _Crossed(list(keys), int(hash_bucket_size), hash_key)


@export("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> Any:
    """One-hot rows of a class."""
    return _Indicator(categorical_column)


@export("feature_column.embedding_column")
@taking("feature_column.embedding_column", ["combiner"])
def embedding_column(categorical_column: Any, dimension: int, initializer: Any = None) -> Any:
    """A vector of a class, which is trained."""
    return _Embedding(categorical_column, int(dimension), initializer)


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """What parse_example needs to read the features of columns."""
    return {key: value for column in feature_columns for key, value in column.spec().items()}


def in_order(columns: Any) -> list[Any]:
    """Columns by their names."""
    return sorted(columns if isinstance(columns, (list, tuple)) else [columns], key=lambda c: c.name)


def numbers_of_texts(columns: Any, features: dict[str, Any]) -> dict[str, Any]:
    """The features without texts: classes that are read from texts as numbers."""
    made = {key: value for key, value in features.items() if value.dtype != "string"}
    for column in columns:
        for source in column.classes():
            if source.reads_texts(features):
                made[_PREFIX + source.name] = source.numbers(features)
    return made


@export("feature_column.input_layer")
@taking("feature_column.input_layer")
def input_layer(features: Any, feature_columns: Any) -> Any:
    """[batch, width]: the columns side by side, in the order of their names."""
    parts = []
    with variable_scope(None, "input_layer"):
        for column in in_order(feature_columns):
            with variable_scope(column.name):
                parts.append(column.dense(features))
    return op("concat", parts, 1) if len(parts) > 1 else parts[0]


@export("feature_column.linear_model")
@taking("feature_column.linear_model", ["sparse_combiner"])
def linear_model(features: Any, feature_columns: Any, units: int = 1) -> Any:
    """A sum of weights of the columns, and a bias."""
    zeros = NAMES["zeros_initializer"]()
    with variable_scope(None, "linear_model"):
        total = get_variable("bias_weights", [units], initializer=zeros)
        for column in in_order(feature_columns):
            classes = isinstance(column, _Categorical)
            x = column.numbers(features) if classes else column.dense(features)
            width = column.count if classes else int(x.shape[1])
            with variable_scope(column.name):
                kernel = get_variable("weights", [width, units], initializer=zeros)
            total = (_rows(kernel, x, width) if classes else op("matmul", x, kernel)) + total
    return total


def _rows(table: Any, numbers: Any, count: int) -> Any:
    """The rows of a table; zeros for numbers outside."""
    inside = op("logical_and", op("greater_equal", numbers, 0), op("less", numbers, count))
    rows = op("gather", table, op("where_v2", inside, numbers, op("zeros_like", numbers)))
    return rows * op("expand_dims", op("cast", inside, rows.dtype), 1)
