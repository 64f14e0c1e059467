"""Compares the names of systole_tpu.tensorflow and their arguments with those of TensorFlow 1.15 (tensorflow_1_15.txt).

usage: python compare.py            prints the counts
       python compare.py --table F  writes the page docs/python_api.md
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

LIST = Path(__file__).with_name("tensorflow_1_15.txt")
_MISSING = object()
# Arguments of TensorFlow's decorators and base classes, which programs do not give.
_HIDDEN = {"_sentinel", "_ops"}


def theirs() -> dict[str, str | None]:
    """{name: arguments}: None of a value, a class without arguments and a module (`name/`)."""
    found: dict[str, str | None] = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, bracket, arguments = line.partition("(")
            found[name] = arguments.removesuffix(")") if bracket else None
    return found


def ours(name: str) -> Any:
    """What tf.<name> is here; _MISSING if there is none."""
    import systole_tpu.tensorflow as tf

    value: Any = tf
    for part in name.rstrip("/").split("."):
        value = getattr(value, part, _MISSING)
        if value is _MISSING:
            return _MISSING
    return value


def _default_text(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(_default_text, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return repr(value.name) if type(value).__name__ == "DType" else "..."


def parameters_of(value: Any) -> dict[str, str | None] | None:
    """{argument: default's text} of a function or constructor, with `*` and `**` before the names of the rest."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return {
        marks.get(p.kind, "") + p.name: None if p.default is inspect.Parameter.empty else _default_text(p.default)
        for p in found
        if p.name not in _HIDDEN
    }


def parameters_of_text(arguments: str) -> dict[str, str | None]:
    """The same of a line of the list."""
    spec = ast.parse(f"def f({arguments}): pass").body[0].args  # type: ignore[attr-defined]
    names = [a.arg for a in spec.args]
    found: dict[str, str | None] = dict.fromkeys(names)
    for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
        found[name] = _default_text_of_node(default)
    if spec.vararg:
        found["*" + spec.vararg.arg] = None
    for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        found[argument.arg] = None if default is None else _default_text_of_node(default)
    if spec.kwarg:
        found["**" + spec.kwarg.arg] = None
    return {name: default for name, default in found.items() if name not in _HIDDEN}


def _default_text_of_node(node: ast.expr) -> str:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return "..."
    return "..." if value is ... else _default_text(value)


def difference(mine: dict[str, str | None] | None, wanted: dict[str, str | None]) -> str:
    """Why arguments differ; empty where a call that TensorFlow takes means the same here."""
    if mine is None:
        return "arguments cannot be seen"
    anything = any(name.startswith("**") for name in mine)
    plain = [name for name in wanted if not name.startswith("*")]
    reasons = []
    missing = [name for name in plain if name not in mine]
    if missing and not anything:
        reasons.append("without " + ", ".join(missing))
    elif missing:
        reasons.append("takes " + ", ".join(missing) + " by keyword only")
    shared = [name for name in mine if name in wanted and not name.startswith("*")]
    if shared != [name for name in plain if name in mine]:
        reasons.append("another order")
    elif [name for name in mine if not name.startswith("*")][: len(shared)] != shared:
        reasons.append("own arguments between")
    for name in shared:
        if wanted[name] is not None and mine[name] != wanted[name] and "..." not in (mine[name], wanted[name]):
            # None stands for what C++ has as its default.
            if mine[name] != "None":
                have = "none" if mine[name] is None else mine[name]
                reasons.append(f"default of {name}: {have}, TensorFlow's: {wanted[name]}")
    return "; ".join(reasons)


def compare() -> dict[str, tuple[str, str]]:
    """{name: (equal | differs | missing, why)} of all names of TensorFlow that are not modules."""
    found = {}
    for name, arguments in theirs().items():
        value = ours(name)
        if name.endswith("/"):
            continue
        if value is _MISSING:
            found[name] = ("missing", "")
        elif arguments is None:
            found[name] = ("equal", "")
        else:
            why = difference(parameters_of(value), parameters_of_text(arguments))
            found[name] = ("differs" if why else "equal", why)
    return found


def _module_of(name: str) -> str:
    parent = name.rpartition(".")[0]
    parts = parent.split(".")
    return "tf" if not parent else "tf." + ".".join(parts[: 2 if parts[0] in ("contrib", "keras") else 1])


def page(found: dict[str, tuple[str, str]]) -> str:
    """The page: counts, then each module's names."""
    modules: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, (state, why) in sorted(found.items()):
        text = f"`{name}`" + (f" ({why})" if why else "")
        modules[_module_of(name)][state].append(text)
    states = ("equal", "differs", "missing")
    total = {state: sum(len(m[state]) for m in modules.values()) for state in states}
    lines = [
        "# Names of TensorFlow 1.15 in Python",
        "",
        "`make python-tests` writes this page: the public names of TensorFlow 1.15 and their arguments"
        " (`python/tests/api`) beside those of `systole_tpu.tensorflow`. *Equal* is a name whose arguments have"
        " TensorFlow's names, order and defaults, or a value. `tf.raw_ops` and `tf.compat` are left out, and of"
        " `tf.contrib` what few programs use.",
        "",
        "| module | equal | differs | missing |",
        "|---|---|---|---|",
        f"| all | {total['equal']} | {total['differs']} | {total['missing']} |",
    ]
    for module, names in sorted(modules.items()):
        lines.append(f"| `{module}` | " + " | ".join(str(len(names[state])) for state in states) + " |")
    for module, names in sorted(modules.items()):
        lines += ["", f"## {module}", ""]
        for state in states:
            if names[state]:
                joint = "; " if state == "differs" else ", "
                lines.append(f"- {state}: " + joint.join(names[state]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    result = compare()
    if sys.argv[1:2] == ["--table"]:
        Path(sys.argv[2]).write_text(page(result), encoding="utf-8")
    for state in ("equal", "differs", "missing"):
        print(state, sum(s == state for s, _ in result.values()))
