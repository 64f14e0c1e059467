"""Runs the program `systole` of the package."""

from __future__ import annotations

import os
import sys

from systole_tpu import command_path


def _is_python(words: list[str]) -> bool:
    """Whether the command runs or reads a program in Python."""
    if len(words) < 2:
        return False
    if words[0] == "run":  # whose help is the program's
        return words[1] not in ("--help", "-h")
    return words[0] == "check" and words[1].endswith(".py")


def main() -> int:
    """Becomes the program, with the arguments of this process.

    Programs in Python run in this process: its environment holds the package.
    """
    words = sys.argv[1:]
    if _is_python(words):
        from systole_tpu import __main__ as python

        return python.main(words if words[0] == "check" else words[1:])
    path = str(command_path())
    os.execv(path, [path, *words])


if __name__ == "__main__":
    sys.exit(main())
