"""Functions with other names of arguments under another name: tf.gfile.Exists(filename) is tf.io.gfile.exists(path)."""

from __future__ import annotations

from typing import Any

from ._arguments import bind, described, renamed, signature_of
from ._registry import NAMES


def _renamed(full: str, function: Any) -> Any:
    """The function with TensorFlow's arguments of this name, which it takes in the same order."""
    signature = signature_of(full, [])
    names = list(signature.parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        values = bind(full, signature, [], args, kwargs)
        count = max(names.index(name) for name in values) + 1 if values else 0
        return function(*(values.get(name, signature.parameters[name].default) for name in names[:count]))

    return described(call, full.rpartition(".")[2], function.__doc__ or "", signature)


for _full in renamed():
    NAMES[_full] = _renamed(_full, NAMES[_full])
