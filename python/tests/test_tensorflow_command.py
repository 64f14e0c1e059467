"""The command `systole` of the package."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("systole_tpu._core")
from systole_tpu import _check, _hook

PROGRAM = """
import sys
import tensorflow as tf
with tf.Session() as session:
    print(session.run(tf.add(20, 22)), sys.argv[1:])
"""


def systole(*words):
    """The output of the command as it is installed, and its exit status. No Python is in PATH."""
    environment = {**os.environ, "PATH": "/nowhere"}
    call = [sys.executable, "-m", "systole_tpu.command", *words]
    run = subprocess.run(call, capture_output=True, text=True, timeout=120, env=environment)
    return run.stdout + run.stderr, run.returncode


def test_run_uses_the_python_that_holds_the_package(tmp_path):
    program = tmp_path / "old.py"
    program.write_text(PROGRAM)
    assert systole("run", str(program), "--steps=3") == ("42 ['--steps=3']\n", 0)
    assert systole("run", "--tpu", "v2-8", str(program)) == ("42 []\n", 0)


def test_programs_find_the_names_that_numpy_had(tmp_path):
    program = tmp_path / "old.py"
    program.write_text(
        "import numpy as np\n"
        "a = np.reshape(np.arange(6, dtype=np.int), newshape=[2, -1])\n"
        "b = np.reshape(np.asscalar(np.float_(3)) * np.array([1.0, np.Inf]), (2, 1), order='C')\n"
        "print(a.tolist(), b.tolist(), a.astype(np.float).dtype, np.in1d([1, 2], [2]).tolist(), np.product([2, 3]))\n"
    )
    expected = "[[0, 1, 2], [3, 4, 5]] [[3.0], [inf]] float64 [False, True] 6\n"
    assert systole("run", str(program)) == (expected, 0)


def test_check_reads_a_program(tmp_path):
    program = tmp_path / "old.py"
    program.write_text("import tensorflow as tf\ntf.nn.relu\ntf.nn.no_such_function\n")
    text, status = systole("check", str(program))
    assert status == 1
    assert "old.py:3: tf.nn.no_such_function is missing" in text


def test_a_program_that_is_not_there():
    text, status = systole("run", "/nowhere/old.py")
    assert status == 2
    assert "/nowhere/old.py" in text


def test_other_commands_are_the_programs():
    command = os.environ.get("SYSTOLE_COMMAND", "")
    if not os.access(command, os.X_OK):
        pytest.skip("SYSTOLE_COMMAND names no program")
    text, status = systole("version")
    assert (text.split()[0], status) == ("systole", 0)


def test_names_are_found_in_star_imports_and_packages(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part/__init__.py").write_text("")
    (tmp_path / "part/a.py").write_text("from .b import f\n")
    (tmp_path / "part/b.py").write_text("import tensorflow as tf\ndef f():\n    tf.no_such_name()\n")
    lines = ["# -*- coding: latin-1 -*-", "from tensorflow.keras.layers import *", "import part.a", "import urllib2"]
    text = "\n".join([*lines, "x = 'caf\xe9'"])
    (tmp_path / "old.py").write_bytes(text.encode("latin-1"))
    _hook.install()
    report = _check.check(str(tmp_path / "old.py"))
    assert [(use.name, use.certain) for use in report.missing] == [("no_such_name", False)]
    assert [line for _, line, _ in report.old] == [4]
