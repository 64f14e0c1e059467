"""Makes Python's functions of those of C++: a line of signatures.txt each, with TensorFlow's own arguments."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from systole_tpu import _core

from ._keras_symbolic import call_as_layer, is_symbolic
from ._registry import NAMES, ROOT

# Older names of arguments, which 1.15 still takes.
_RENAMED = {
    "keep_dims": "keepdims",
    "reduction_indices": "axis",
    "dimension": "axis",
    "dim": "axis",
    "squeeze_dims": "axis",
    "seq_dim": "seq_axis",
    "batch_dim": "batch_axis",
}
# Names that one function has for an argument of another name in C++.
_RENAMED_IN = {
    "nn.conv2d": {"filters": "filter"},
    "nn.conv3d": {"filters": "filter"},
    "nn.max_pool": {"input": "value"},
    "nn.avg_pool": {"input": "value"},
    "nn.conv1d": {"input": "value"},
    "nn.conv2d_transpose": {"filters": "filter", "input": "value"},
    "nn.xw_plus_b": {},
    "log_sigmoid": {},
    "count_nonzero": {"input": "input_tensor"},
    "image.crop_and_resize": {"box_indices": "box_ind"},
}
# What tells TensorFlow how to compute, and changes no result of ours.
_WITHOUT_EFFECT = {
    "_sentinel", "use_cudnn_on_gpu", "validate_indices", "data", "summarize", "partition_strategy",
    "fused", "variables_collections", "outputs_collections", "a_is_sparse", "b_is_sparse",
}  # fmt: skip

# Arguments that TensorFlow casts to the dtype of another.
_CAST = {
    "nn.softmax_cross_entropy_with_logits": ("labels", "logits"),
    "nn.softmax_cross_entropy_with_logits_v2": ("labels", "logits"),
}


class _Function:
    """A function of C++, which also takes the results of Keras's layers."""

    def __init__(self, core: Any) -> None:
        self.name, self.arguments, self._core = core.name, core.arguments, core
        self.documentation = core.documentation

    def __call__(self, values: dict[str, Any], called: str = "") -> Any:
        """`called`: the name and the arguments that errors show."""
        if is_symbolic(values):
            return call_as_layer(self._core, values, called or self)
        if self.name in _CAST:
            cast, like = _CAST[self.name]
            given, wanted = (getattr(values.get(k), "_dtype_name", None) for k in (cast, like))
            if given and wanted and given != wanted:
                values = {**values, cast: NAMES["cast"](values[cast], wanted)}
        return self._core(values, called or self)

    def __str__(self) -> str:
        """Returns the name with the arguments, as errors show it."""
        known = NAMES.get(self.name)
        return f"{self.name}{inspect.signature(known)}" if callable(known) else f"{self.name}()"


_FUNCTIONS = {name: _Function(core) for name, core in _core.functions().items()}


def core_function(name: str) -> Callable[..., Any]:
    """The function of C++; its arguments are keywords, and None is absent."""
    function = _FUNCTIONS[name]

    def call(**arguments: Any) -> Any:
        return function(arguments)

    return call


def _unsupported(name: str, argument: str) -> None:
    raise NotImplementedError(f"tf.{name}: argument '{argument}', got a value, expected its default")


def _source(made: str, name: str, spec: ast.arguments, arguments: str, core: Any) -> str:
    """The text of the function of a line; `made` is its name there, and `core_<made>` the function of C++."""
    names = [a.arg for a in spec.args]
    defaults = dict(zip(reversed(names), (ast.unparse(d) for d in reversed(spec.defaults)), strict=False))
    renamed = {**_RENAMED, **_RENAMED_IN.get(core.name, {})}
    known = {*core.arguments, "name"}
    values: dict[str, list[str]] = {}
    body = []
    for argument in names:
        target = argument if argument in known else renamed.get(argument, argument)
        if target in known:
            values.setdefault(target, []).append(argument)
        elif argument not in _WITHOUT_EFFECT:
            usual = defaults.get(argument, "None")
            body.append(
                f"    if {argument} is not None and {argument} != {usual}: _unsupported({name!r}, {argument!r})"
            )
    parts = []
    for target, sources in values.items():
        # The older name counts where it is given.
        text = sources[0]
        for older in sources[1:]:
            text = f"({older} if {older} is not None else {text})"
        parts.append(f"{target!r}: {text}")
    body.append(f"    return core_{made}({{{', '.join(parts)}}}, {f'{name}({arguments})'!r})")
    return "\n".join([f"def {made}({arguments}):", *body, ""])


def _document(name: str, core: Any, ops: dict[str, str]) -> str:
    """The comment of the C++ function, or what its op says."""
    last = core.name.rpartition(".")[2]
    text = core.documentation or ops.get(last.replace("_", "").lower(), "")
    if core.name != name:
        text = f"{text}\n\nAnother name of tf.{core.name}." if text else f"tf.{core.name}."
    return text.strip() or f"tf.{name} of TensorFlow 1.15."


def make_all() -> None:
    """Exports the functions of signatures.txt. Parsed and compiled as one text, to save time."""
    ops = {name.lower(): doc for name, doc, *_ in _core.ops()}
    text = (Path(__file__).parent / "signatures.txt").read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            head, _, target = line.partition(" -> ")
            name, _, arguments = head.partition("(")
            rows.append((name, arguments.removesuffix(")"), _FUNCTIONS[target or name]))
    specs = ast.parse("\n".join(f"def f({arguments}): pass" for _, arguments, _ in rows)).body
    scope: dict[str, Any] = {"_unsupported": _unsupported, "__name__": ROOT}
    sources = []
    for i, ((name, arguments, core), spec) in enumerate(zip(rows, specs, strict=True)):
        scope[f"core_f{i}"] = core
        sources.append(_source(f"f{i}", name, spec.args, arguments, core))  # type: ignore[attr-defined]
    exec(compile("\n".join(sources), "<systole functions>", "exec"), scope)
    for i, (name, _, core) in enumerate(rows):
        function = scope[f"f{i}"]
        function.__name__ = function.__qualname__ = name.rpartition(".")[2]
        function.__doc__ = _document(name, core, ops)
        NAMES.setdefault(name, function)
