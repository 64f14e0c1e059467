"""Runs the program `systole` of the package."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from systole_tpu import command_path


def main() -> NoReturn:
    """Becomes the program, with the arguments of this process."""
    path = str(command_path())
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
