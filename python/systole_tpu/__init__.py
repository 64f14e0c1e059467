"""Systole: trains neural networks the way the TPU stack does.

The package holds the PJRT plugin `libsystole_pjrt.so`, which JAX finds by itself (`JAX_PLATFORMS=systole`), and the
command `systole`.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["command_path", "library_path"]
__version__ = "0.1.0"

_FOLDER = Path(__file__).resolve().parent


def library_path() -> Path:
    """Returns the path of the PJRT plugin: the value of SYSTOLE_PJRT_LIBRARY, or the package's own.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return _existing("SYSTOLE_PJRT_LIBRARY", _FOLDER / "lib" / "libsystole_pjrt.so")


def command_path() -> Path:
    """Returns the path of the program `systole`: the value of SYSTOLE_COMMAND, or the package's own.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return _existing("SYSTOLE_COMMAND", _FOLDER / "bin" / "systole")


def _existing(variable: str, packaged: Path) -> Path:
    path = Path(os.environ.get(variable) or packaged)
    if not path.is_file():
        raise FileNotFoundError(
            f"systole_tpu: no file {path}, expected the package built by `pip install .`, or its path in {variable}"
        )
    return path
