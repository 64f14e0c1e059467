"""The arguments of functions and classes that are made of lists: arguments.txt has TensorFlow's."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Ends the line of a function that takes these arguments by their places.
_BY_POSITION = " by position"


def _signature(spec: ast.arguments) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    without = len(spec.args) - len(spec.defaults)
    parameters = []
    for i, argument in enumerate(spec.args):
        usual = inspect.Parameter.empty if i < without else ast.literal_eval(spec.defaults[i - without])
        parameters.append(inspect.Parameter(argument.arg, kind, default=usual))
    if spec.kwarg:
        parameters.append(inspect.Parameter(spec.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


@functools.cache
def _lines() -> list[str]:
    text = (Path(__file__).parent / "arguments.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def renamed() -> list[str]:
    """The names whose functions take the same arguments under other names."""
    return [line.partition("(")[0] for line in _lines() if line.endswith(_BY_POSITION)]


@functools.cache
def _specs() -> dict[str, ast.arguments]:
    lines = [line.removesuffix(_BY_POSITION) for line in _lines()]
    functions = ast.parse("\n".join(f"def f({line.partition('(')[2]}: pass" for line in lines)).body
    return {line.partition("(")[0]: f.args for line, f in zip(lines, functions, strict=True)}  # type: ignore[attr-defined]


def has_arguments(name: str) -> bool:
    """Whether TensorFlow's arguments of tf.<name> are known."""
    return name in _specs()


def signature_of(name: str, positions: Sequence[str]) -> inspect.Signature:
    """TensorFlow's signature of tf.<name>; of a name that TensorFlow has not, the positions with None as defaults."""
    spec = _specs().get(name)
    if spec is not None:
        return _signature(spec)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(p, kind, default=None) for p in positions])


def with_defaults(signature: inspect.Signature, usual: dict[str, Any]) -> inspect.Signature:
    """The signature with these defaults; numbers are of 32 bits."""

    def replaced(parameter: inspect.Parameter) -> inspect.Parameter:
        value = usual.get(parameter.name, parameter.default)
        return parameter.replace(default=float(f"{value:.7g}") if isinstance(value, float) else value)

    return signature.replace(parameters=[replaced(p) for p in signature.parameters.values()])


def bind(name: str, signature: inspect.Signature, more: Sequence[str], args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments that a call gives, by name; `more` are ours besides TensorFlow's, by keyword.

    Errors: TypeError, with the signature.
    """
    own = {key: kwargs.pop(key) for key in more if key in kwargs and key not in signature.parameters}
    try:
        values = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"tf.{name}(): {error}; its arguments: {signature}") from None
    for parameter in signature.parameters.values():
        if parameter.kind == parameter.VAR_KEYWORD:
            values.update(values.pop(parameter.name, {}))
    return {**values, **own}


# By kind of argument: what fails for other values, and the kind's name in errors.
_KINDS: dict[str, tuple[Any, str]] = {
    "number": (float, "a number"),
    "integer": (float, "an integer"),
    "flag": (bool, "a bool"),
    "text": (str, "a text"),
    "numbers": (lambda values: [float(v) for v in values], "a list of numbers"),
    "integers": (lambda values: [float(v) for v in values], "a list of integers"),
}


def check_kinds(name: str, signature: inspect.Signature, kinds: dict[str, str], values: dict[str, Any]) -> None:
    """Raises TypeError or ValueError, with the signature, for a value that is not of its argument's kind. Tensors and
    functions are of every kind."""
    for argument, kind in kinds.items():
        value = values.get(argument)
        if value is None or callable(value) or hasattr(value, "_dims"):
            continue
        convert, expected = _KINDS[kind]
        try:
            convert(value)
        except (TypeError, ValueError) as error:
            text = f"tf.{name}: argument '{argument}', got {value!r}, expected {expected}; tf.{name}{signature}"
            raise type(error)(text) from None


def kind_of_default(value: Any) -> str:
    """Returns the kind of an argument with this default."""
    kinds = {bool: "flag", int: "integer", float: "number", str: "text"}
    return kinds.get(type(value), "number")


# What tells nothing about the result.
_WITHOUT_EFFECT = {"use_locking", "name", "scope", "accum_name", "linear_name"}


def refuse_rest(name: str, signature: inspect.Signature, values: dict[str, Any], taken: Sequence[str]) -> None:
    """Raises NotImplementedError for an argument that is not `taken` and has another value than its default."""
    for key, value in values.items():
        usual = signature.parameters[key].default if key in signature.parameters else None
        if key in taken or key in _WITHOUT_EFFECT or value is None or value is usual:
            continue
        if not isinstance(value, (bool, int, float, str)) or value != usual:
            raise NotImplementedError(f"tf.{name}: argument '{key}', got {value!r}, expected its default, {usual!r}")


def taking(name: str, ignored: Sequence[str] = ()) -> Any:
    """Decorates a function that takes some of TensorFlow's arguments of tf.<name>, as keywords: it gets what a call
    gives. The others must have their defaults, but for `ignored` ones, which tell nothing about the result."""

    def decorate(function: Any) -> Any:
        own = list(inspect.signature(function).parameters)
        signature = signature_of(name, own)

        def call(*args: Any, **kwargs: Any) -> Any:
            values = bind(name, signature, own, args, kwargs)
            refuse_rest(name, signature, values, [*own, *ignored])
            return function(**{key: value for key, value in values.items() if key in own})

        return described(call, name.rpartition(".")[2], function.__doc__ or "", signature)

    return decorate


def described(function: Any, name: str, doc: str, signature: inspect.Signature) -> Any:
    """The function with its name, documentation and arguments, for help() and completion."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or f"tf.{name} of TensorFlow 1.15."
    function.__signature__ = signature
    return function


def constructor(signature: inspect.Signature) -> inspect.Signature:
    """The signature of __init__ with these arguments."""
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return signature.replace(parameters=[itself, *signature.parameters.values()])
