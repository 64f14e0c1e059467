"""Functions of tf.* and tf.nn.* whose arguments are more than those of one function of C++."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from systole_tpu import _core

from ._arguments import bind, described, signature_of
from ._framework import Tensor, Variable, op
from ._functions import core_function
from ._registry import export
from ._shapes import TensorShape

_TopK = collections.namedtuple("TopKV2", ["values", "indices"])


def call(function: str, /, **arguments: Any) -> Any:
    return core_function(function)(**arguments)


@export("concat")
def concat(values: Any, axis: int, name: str = "concat") -> Any:
    """Tensors, one after the other along an axis."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    return call("concat", values=list(values), axis=int(axis), name=name)


@export("split")
def split(value: Any, num_or_size_splits: Any, axis: int = 0, num: Any = None, name: str = "split") -> Any:
    """Equal parts, or parts of given sizes, along an axis."""
    if isinstance(num_or_size_splits, (int, np.integer)):
        return call("split", value=value, num=int(num_or_size_splits), axis=int(axis), name=name)
    return call("split_sizes", value=value, sizes=[int(s) for s in num_or_size_splits], axis=int(axis), name=name)


@export("range")
def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Any:
    """start, start + delta, ... short of limit."""
    if limit is None:
        start, limit = 0, start
    if dtype is not None:
        start, limit, delta = (
            op("constant", v, dtype) if isinstance(v, (int, float)) else op("cast", v, dtype)
            for v in (start, limit, delta)
        )
    elif isinstance(limit, (Tensor, Variable)) and limit.dtype == "int64":
        start, delta = (op("constant", v, limit.dtype) if isinstance(v, int) else v for v in (start, delta))
    return call("range", start=start, limit=limit, delta=delta, name=name)


@export("where")
def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    """x where `condition`, else y."""
    if x is None or y is None:
        raise NotImplementedError(
            "tf.where: x and y, got none, expected both: the number of places is not known before a run"
        )
    return call("where", condition=condition, x=x, y=y, name=name)


@export("tensordot", "linalg.tensordot")
def tensordot(a: Any, b: Any, axes: Any, name: Any = None) -> Any:
    """Sums of products over pairs of axes."""
    if isinstance(axes, int):
        return call("tensordot", a=a, b=b, count=axes, a_axes=[], b_axes=[], name=name)
    first, second = ([x] if isinstance(x, int) else list(x) for x in axes)
    return call("tensordot", a=a, b=b, count=-1, a_axes=first, b_axes=second, name=name)


@export("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """Sums of products by Einstein's convention."""
    return call("einsum", equation=equation.replace(" ", ""), inputs=list(inputs), name=kwargs.get("name"))


@export("norm", "linalg.norm")
def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None, name: Any = None, keep_dims: Any = None
) -> Any:
    """The norm of vectors."""
    keep = keepdims if keepdims is not None else keep_dims
    return call(
        "norm", tensor=tensor, ord=2 if ord in ("euclidean", "fro") else float(ord), axis=axis, keepdims=keep, name=name
    )


@export("sequence_mask")
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: Any = None) -> Any:
    """True before each length."""
    if not isinstance(maxlen, (int, np.integer)):
        raise NotImplementedError("tf.sequence_mask: maxlen, got a tensor or None, expected a number")
    return call("sequence_mask", lengths=lengths, maxlen=int(maxlen), dtype=dtype, name=name)


@export("meshgrid")
def meshgrid(*args: Any, **kwargs: Any) -> Any:
    return call("meshgrid", vectors=list(args), indexing=kwargs.get("indexing", "xy"))


@export("confusion_matrix", "math.confusion_matrix")
def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, dtype: Any = "int32", name: Any = None, weights: Any = None
) -> Any:
    return call(
        "confusion_matrix",
        labels=labels,
        predictions=predictions,
        num_classes=num_classes,
        dtype=dtype,
        weights=weights,
    )


@export("nn.dropout")
def dropout(
    x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None, name: Any = None, rate: Any = None
) -> Any:
    """Each element is kept with probability keep_prob and divided by it, else 0."""
    if rate is not None:
        if keep_prob is not None:
            raise ValueError("Cannot specify both 'rate' and 'keep_prob'")
        keep_prob = 1 - rate
    if keep_prob is None:
        raise ValueError("You must provide a rate to dropout.")
    shape = None if noise_shape is None else TensorShape(noise_shape).as_list()
    return call("nn.dropout", x=x, keep_prob=keep_prob, noise_shape=shape, seed=seed, name=name)


@export("nn.embedding_lookup")
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: Any = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Any:
    """The rows of params that ids name."""
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise NotImplementedError(f"tf.nn.embedding_lookup: params, got {len(params)} parts, expected one")
        params = params[0]
    if max_norm is not None:
        raise NotImplementedError("tf.nn.embedding_lookup: max_norm, got a number, expected None")
    return call("nn.embedding_lookup", params=params, ids=ids, name=name)


@export("nn.top_k", "math.top_k")
def top_k(input: Any, k: int = 1, sorted: bool = True, name: Any = None) -> Any:
    """The k largest elements of each row, and their places."""
    return _TopK(*call("nn.top_k", input=input, k=k, sorted=sorted, name=name))


@export("Assert", "debugging.Assert")
def Assert(condition: Any, data: Any, summarize: Any = None, name: Any = None) -> Any:
    """Fails the run when `condition` is false."""
    message = " ".join(str(d) for d in data if isinstance(d, (str, int, float)))
    return call("assert_op", condition=condition, message=message, name=name)


@export("Print")
def Print(
    input_: Any, data: Any, message: Any = None, first_n: Any = None, summarize: Any = None, name: Any = None
) -> Any:
    """input_; runs that need it write the values of data into the log."""
    return call(
        "print_op", input=input_, data=list(data), message=message, first_n=first_n, summarize=summarize, name=name
    )


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: Any = None) -> Any:
    return op("add_n", list(inputs), name=name)


@export("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value: Any, dtype: Any, name: Any = None) -> Any:
    return op("cast", value, dtype, name=name)


@export("bitcast")
def bitcast(input: Any, type: Any, name: Any = None) -> Any:
    raise NotImplementedError("tf.bitcast")


@export("shape_n")
def shape_n(input: Any, out_type: Any = "int32", name: Any = None) -> list[Any]:
    return [op("shape", x, out_type=out_type) for x in input]


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: Any, x: Any, name: Any = None) -> Any:
    return op("multiply", scalar, x, name=name)


@export("boolean_mask")
def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Any:
    raise NotImplementedError("tf.boolean_mask: the number of rows is not known before a run; multiply by the mask")


# -- Ops of the registry under TensorFlow's names: inputs, then attributes with their defaults.


def op_function(type_: str) -> Any:
    """tf.raw_ops.<type_>, by keywords or in the order of inputs and attributes."""
    _, doc, inputs, attrs, outputs = _OPS[type_]
    names = [n for n, _ in inputs] + [a for a, *_ in attrs]

    def raw(*args: Any, name: Any = None, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{type_}() takes {len(names)} arguments, got {len(args)}")
        values = dict(zip(names, args, strict=False), **kwargs)
        unknown = set(values) - set(names)
        if unknown:
            raise TypeError(
                f"{type_}() got an unexpected keyword argument '{min(unknown)}', expected {', '.join(names)}"
            )
        missing = [n for n, _ in inputs if n not in values] + [
            a for a, _, _, usual in attrs if not usual and a not in values and a not in _IMPLIED
        ]
        if missing:
            raise TypeError(f"{type_}() missing required argument '{missing[0]}'")
        given = {a: values[a] for a, *_ in attrs if values.get(a) is not None}
        made = _core.create_op(type_, [values[n] for n, _ in inputs], given, name or "")
        return made if not isinstance(made, list) or len(outputs) != 1 or outputs[0][1] else made[0]

    raw.__name__, raw.__doc__ = type_, doc
    return raw


_IMPLIED = {"T", "N", "Tidx", "dtype", "DstT", "_stream"}
_OPS = {name: (name, *rest) for name, *rest in _core.ops()}
for _type in _OPS:
    if not _type.startswith("_"):
        export(f"raw_ops.{_type}")(op_function(_type))


def named_op(full: str, type_: str) -> Any:
    """An op as tf.<full>, with TensorFlow's arguments, which may have other names than the op's."""
    signature = signature_of(full, [])
    _, doc, inputs, attrs, _ = _OPS[type_]
    names = [n for n, _ in inputs] + [a for a, *_ in attrs]
    parameters = list(signature.parameters)
    # An argument of another name is the op's at its place.
    targets = {p: p if p in names else names[i] if i < len(inputs) else "" for i, p in enumerate(parameters)}
    raw = op_function(type_)

    def function(*args: Any, **kwargs: Any) -> Any:
        given: dict[str, Any] = {}
        for key, value in bind(full, signature, [], args, kwargs).items():
            if value is None or key == "name":
                continue
            if targets[key]:
                given[targets[key]] = value
            elif value != signature.parameters[key].default:
                raise NotImplementedError(f"tf.{full}: argument '{key}', got {value!r}, expected its default")
        return raw(**given, name=kwargs.get("name"))

    return described(function, full.rpartition(".")[2], doc, signature)


# Functions that are an op.
for _name, _type in {
    "read_file": "ReadFile",
    "io.read_file": "ReadFile",
    "write_file": "WriteFile",
    "io.write_file": "WriteFile",
    "matching_files": "MatchingFiles",
    "as_string": "AsString",
    "strings.as_string": "AsString",
    "string_to_number": "StringToNumber",
    "strings.to_number": "StringToNumber",
    "string_to_hash_bucket_fast": "StringToHashBucketFast",
    "strings.to_hash_bucket_fast": "StringToHashBucketFast",
    "strings.length": "StringLength",
    "strings.lower": "StringLower",
    "strings.upper": "StringUpper",
    "string_strip": "StringStrip",
    "strings.strip": "StringStrip",
    "substr": "Substr",
    "strings.substr": "Substr",
    "decode_raw": "DecodeRaw",
    "io.decode_raw": "DecodeRaw",
    "image.decode_png": "DecodePng",
    "image.decode_jpeg": "DecodeJpeg",
    "image.decode_image": "DecodeImage",
    "image.encode_png": "EncodePng",
    "image.extract_jpeg_shape": "ExtractJpegShape",
    "io.extract_jpeg_shape": "ExtractJpegShape",
    "image.encode_jpeg": "EncodeJpeg",
    "image.resize_bicubic": "ResizeBicubic",
    "image.resize_bilinear": "ResizeBilinear",
    "image.resize_nearest_neighbor": "ResizeNearestNeighbor",
    "unique": "Unique",
    "quantization.fake_quant_with_min_max_vars": "FakeQuantWithMinMaxVars",
    "quantization.fake_quant_with_min_max_args": "FakeQuantWithMinMaxArgs",
}.items():
    export(_name)(named_op(_name, _type))


@export("string_join", "strings.join")
def string_join(inputs: Any, separator: str = "", name: Any = None) -> Any:
    return op("raw_ops.StringJoin", list(inputs), separator, name=name)


@export("regex_replace", "strings.regex_replace")
def regex_replace(input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: Any = None) -> Any:
    return op("raw_ops.StaticRegexReplace", input, pattern, rewrite, replace_global, name=name)
