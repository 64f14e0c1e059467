"""Makes Python's functions of those of C++: a line of signatures.txt each, with TensorFlow's own arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from systole_tpu import _core

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
}
# What tells TensorFlow how to compute, and changes no result of ours.
_WITHOUT_EFFECT = {
    "_sentinel", "use_cudnn_on_gpu", "validate_indices", "data", "summarize", "partition_strategy",
    "fused", "variables_collections", "outputs_collections", "a_is_sparse", "b_is_sparse",
}  # fmt: skip

_FUNCTIONS = _core.functions()


def core_function(name: str) -> Callable[..., Any]:
    """The function of C++; its arguments are keywords, and None is absent."""
    function = _FUNCTIONS[name]

    def call(**arguments: Any) -> Any:
        return function(arguments)

    return call


def _unsupported(name: str, argument: str) -> None:
    raise NotImplementedError(f"tf.{name}: argument '{argument}', got a value, expected its default")


def _source(name: str, arguments: str, core: Any) -> tuple[str, list[str]]:
    """The text of the function, and the arguments that it does not take."""
    spec = ast.parse(f"def f({arguments}): pass").body[0].args  # type: ignore[attr-defined]
    names = [a.arg for a in spec.posonlyargs + spec.args]
    defaults = dict(zip(reversed(names), (ast.unparse(d) for d in reversed(spec.defaults)), strict=False))
    renamed = {**_RENAMED, **_RENAMED_IN.get(core.name, {})}
    known = set(core.arguments) | {"name"}
    values: dict[str, list[str]] = {}
    checks = []
    for argument in names:
        target = argument if argument in known else renamed.get(argument, argument)
        if target in known:
            values.setdefault(target, []).append(argument)
        elif argument not in _WITHOUT_EFFECT:
            usual = defaults.get(argument, "None")
            checks.append(
                f"    if {argument} is not None and {argument} != {usual}: _unsupported({name!r}, {argument!r})"
            )
    parts = []
    for target, sources in values.items():
        # The older name counts where it is given.
        text = sources[0]
        for older in sources[1:]:
            text = f"({older} if {older} is not None else {text})"
        parts.append(f"{target!r}: {text}")
    last = name.rpartition(".")[2]
    body = "\n".join([*checks, f"    return _core({{{', '.join(parts)}}})"])
    return f"def {last}({arguments}):\n{body}\n", names


def _document(core: Any, ops: dict[str, str], last: str) -> str:
    sentence = ops.get(last.replace("_", "").lower(), "")
    return sentence or f"tf.{core.name} of TensorFlow 1.15."


def make_all() -> None:
    """Exports the functions of signatures.txt."""
    ops = {name.lower(): doc for name, doc, *_ in _core.ops()}
    text = (Path(__file__).parent / "signatures.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    sources, made = [], []
    for line in lines:
        head, _, target = line.partition(" -> ")
        name, _, arguments = head.partition("(")
        core = _FUNCTIONS[target or name]
        made.append((name, core))
        source, _ = _source(name, arguments.removesuffix(")"), core)
        sources.append(source)
    for (name, core), source in zip(made, sources, strict=True):
        scope: dict[str, Any] = {"_core": core, "_unsupported": _unsupported, "__name__": ROOT}
        exec(compile(source, f"<systole tf.{name}>", "exec"), scope)
        function = scope[name.rpartition(".")[2]]
        function.__doc__ = _document(core, ops, name.rpartition(".")[2])
        NAMES.setdefault(name, function)
