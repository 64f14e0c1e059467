"""Programs in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def python(program: str, timeout: int = 120) -> tuple[int, str]:
    """The exit status and the output of a program."""
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip
    return run.returncode, run.stdout + run.stderr
