"""Writes type stubs of systole_tpu.tensorflow, whose functions are made when it is imported.

usage: make_stubs.py FOLDER        writes FOLDER/tensorflow/**/__init__.pyi; the module _core must be built
"""

from __future__ import annotations

import inspect
import keyword
import sys
import types
from pathlib import Path
from typing import Any

ROOT = "systole_tpu.tensorflow"
_HEAD = '"""tf.{name}"""\n# Made by make_stubs.py.\nfrom typing import Any\n'


def _default(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and abs(value) < 1e300):
        return repr(value)
    return "..."


def _parameters(value: Any) -> str:
    """The text between the parentheses of a signature; of any arguments where there is none to see."""
    try:
        found = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return "*args: Any, **kwargs: Any"
    parts: list[str] = []
    before = ""
    for p in found:
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if before == p.POSITIONAL_ONLY and p.kind != p.POSITIONAL_ONLY:
            parts.append("/")
        if p.kind == p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            parts.append("*")
        before = p.kind
        kind = "" if p.name == "self" else ": Any"
        parts.append(f"{mark}{p.name}{kind}" + ("" if p.default is p.empty else f" = {_default(p.default)}"))
    if before == inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return ", ".join(parts)


def _documentation(value: Any, indent: str) -> str:
    text = inspect.getdoc(value)
    if not text:
        return " ..."
    safe = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'\n{indent}"""' + safe.replace("\n", f"\n{indent}") + '"""'


def _function(name: str, value: Any, indent: str = "") -> str:
    return f"{indent}def {name}({_parameters(value)}) -> Any:{_documentation(value, indent + '    ')}\n"


def _class(name: str, value: type) -> str:
    lines = []
    for key, member in sorted(inspect.getmembers_static(value)):
        hidden = key.startswith("_") and key != "__init__"
        if hidden or keyword.iskeyword(key) or (key == "__init__" and member is object.__init__):
            continue
        if isinstance(member, property) or inspect.isdatadescriptor(member):
            lines.append(f"    @property\n    def {key}(self) -> Any:{_documentation(member, '        ')}\n")
        elif isinstance(member, (staticmethod, classmethod)):
            kind = type(member).__name__
            first = "cls, " if kind == "classmethod" else ""
            text = _function(key, getattr(value, key), "    ")
            lines.append(f"    @{kind}\n" + text.replace(f"def {key}(", f"def {key}({first}", 1))
        elif callable(member):
            lines.append(_function(key, member, "    "))
        else:
            lines.append(f"    {key}: Any\n")
    document = _documentation(value, "    ")
    return f"class {name}:" + (document + "\n" if document != " ..." else "\n") + ("".join(lines) or "    ...\n")


def stub_of(module: types.ModuleType, children: set[str]) -> str:
    """The text of the stub of a module."""
    lines = [_HEAD.format(name=module.__name__.removeprefix(ROOT).lstrip("."))]
    lines += [f"from . import {name} as {name}\n" for name in sorted(children)]
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or name in children or keyword.iskeyword(name):
            continue
        if isinstance(value, types.ModuleType):
            # tf.app.flags is tf.flags.
            if value.__name__.startswith(ROOT):
                lines.append(f"import {value.__name__} as {name}\n")
        elif inspect.isclass(value):
            lines.append(_class(name, value))
        elif callable(value):
            lines.append(_function(name, value))
        else:
            lines.append(f"{name}: Any\n")
    return "".join(lines)


def write(folder: Path) -> int:
    """Writes the stubs of all modules; returns how many."""
    __import__(ROOT)
    modules = {
        name: module
        for name, module in sys.modules.items()
        if (name == ROOT or name.startswith(ROOT + ".")) and not any(p.startswith("_") for p in name.split(".")[2:])
    }
    for name, module in modules.items():
        children = {n.rpartition(".")[2] for n in modules if n.rpartition(".")[0] == name}
        path = folder / Path(*name.split(".")[1:]) / "__init__.pyi"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stub_of(module, children), encoding="utf-8")
    return len(modules)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    print(write(Path(sys.argv[1])), "stubs")
