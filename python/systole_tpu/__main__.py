"""python -m systole_tpu PROGRAM.py [ARGS]: runs a program of TensorFlow 1 on Systole."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import sys

_USAGE = """usage: python -m systole_tpu [--tpu TPU] [--allow-missing] PROGRAM.py [ARGS]
       python -m systole_tpu check PROGRAM.py|FOLDER...
`systole run --help` explains them."""
_WORKER = re.compile(r"(grpc://)?[^/:]+:[0-9]+")


class _UsageError(Exception):
    pass


def _read(words: list[str]) -> tuple[list[str], bool]:
    """Returns the program with its arguments, and whether it runs although names are missing. Sets SYSTOLE_TPU."""
    words, allow_missing = list(words), False
    while words and words[0].startswith("-"):
        option, equals, value = words.pop(0).partition("=")
        if option == "--allow-missing" and not equals:
            allow_missing = True
        elif option == "--tpu" and (equals or words):
            os.environ["SYSTOLE_TPU"] = value if equals else words.pop(0)
        else:
            raise _UsageError(f"option, got '{option}', expected --tpu TPU or --allow-missing before PROGRAM.py")
    if not words:
        raise _UsageError("PROGRAM.py, got none, expected a program")
    return words, allow_missing


def _is_tpu(tpu: str) -> bool:
    """Whether a session can have this TPU. Of a worker only the form of its address is checked."""
    from systole_tpu import _core
    from systole_tpu.tensorflow import _session, errors

    if tpu.startswith("grpc:"):
        return tpu.startswith("grpc://") and all(_WORKER.fullmatch(worker) for worker in tpu.split(","))
    try:
        _core.devices(_session.tpu_target())
    except errors.OpError:
        return False
    return True


def _name_tpu() -> None:
    """Sets the environment variables in which programs look for a TPU, if SYSTOLE_TPU names one."""
    tpu = os.environ.get("SYSTOLE_TPU", "")
    if not tpu:
        return
    if not _is_tpu(tpu):
        raise _UsageError(
            f"--tpu, got '{tpu}', expected a virtual TPU such as v2-8 or v3-32, local, or a worker, grpc://HOST:PORT"
        )
    os.environ.setdefault("TPU_NAME", tpu)
    os.environ.setdefault("COLAB_TPU_ADDR", tpu.removeprefix("grpc://"))


def _is_missing(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is None
    except ValueError:  # set to None in sys.modules
        return True


def _lacking() -> str:
    """Says what the package needs and this Python lacks, with the command that installs it; "" if nothing."""
    if _is_missing("numpy"):
        return f"NumPy, got none in {sys.executable}, expected it: {sys.executable} -m pip install numpy"
    if _is_missing("systole_tpu._core"):
        version = "{}.{}".format(*sys.version_info)
        return (
            f"the extension module for Python {version}, got none, expected it: {sys.executable} -m pip install . "
            "in the source folder, or of a wheel for this version (docs/python.md)"
        )
    return ""


def main(words: list[str]) -> int:
    """Runs a program as __main__ with its own arguments, or checks programs. Returns the exit status."""
    checks = words[:1] == ["check"]
    if not checks and words[:1] and words[0] in ("-h", "--help"):
        print(_USAGE)
        return 0
    if lacking := _lacking():
        print(f"systole {'check' if checks else 'run'}: {lacking}", file=sys.stderr)
        return 1
    from systole_tpu import _check, _hook, _old_numpy

    if checks:
        return _check.main(words[1:])
    try:
        words, allow_missing = _read(words)
        program = words[0]
        if not os.path.isfile(program):
            raise _UsageError(f"program, got '{program}', expected a file")
        _name_tpu()
    except _UsageError as error:
        print(f"systole run: {error}", file=sys.stderr)
        return 2
    _hook.install()
    _old_numpy.install()
    if not _check.before_run(program, allow_missing):
        return 1
    sys.argv = list(words)
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
