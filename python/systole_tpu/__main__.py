"""python -m systole_tpu PROGRAM.py [ARGS]: runs a program of TensorFlow 1 on Systole."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys

from systole_tpu import _hook, _old_numpy

_USAGE = """usage: python -m systole_tpu [--tpu v2-8|grpc://HOST:PORT] PROGRAM.py [ARGS]
       python -m systole_tpu check PROGRAM.py"""


def _name_tpu() -> None:
    """Sets the variables that programs look for a TPU by, where SYSTOLE_TPU names one: any value stands for it."""
    tpu = os.environ.get("SYSTOLE_TPU", "")
    if tpu:
        os.environ.setdefault("TPU_NAME", tpu)
        os.environ.setdefault("COLAB_TPU_ADDR", tpu.removeprefix("grpc://"))


def main(words: list[str]) -> int:
    """Runs a program as __main__, with its own arguments, once it is known which of its names are missing."""
    if words[:1] == ["check"]:
        from systole_tpu import _check

        return _check.main(words[1:])
    while words and words[0].startswith("--tpu"):
        option, equals, value = words.pop(0).partition("=")
        if option != "--tpu" or not (equals or words):
            break
        os.environ["SYSTOLE_TPU"] = value if equals else words.pop(0)
    _name_tpu()
    if not words or words[0].startswith("-"):
        print(_USAGE, file=sys.stderr)
        return 2
    if importlib.util.find_spec("systole_tpu._core") is None:
        print("systole run: this package was built without its extension module; see docs/python.md", file=sys.stderr)
        return 1
    program = words[0]
    if not os.path.isfile(program):
        print(f"systole run: program, got '{program}', expected a file", file=sys.stderr)
        return 2
    _hook.install()
    _old_numpy.install()
    from systole_tpu import _check

    if not _check.before_run(program):
        return 1
    sys.argv = list(words)
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
