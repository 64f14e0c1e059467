"""The command `systole` of the package."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("systole_tpu._core")
from systole_tpu import _check, _hook

COMMAND = os.environ.get("SYSTOLE_COMMAND")
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
    if not COMMAND:
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
    assert [(use.name, use.stops) for use in report.missing] == [("no_such_name", False)]
    assert [line for _, line, _ in report.old] == [4]


def missing(tmp_path, text, **others):
    """{name: whether it stops the run} of what a program lacks; `others` are modules in its folder."""
    for name, source in {"old": text, **others}.items():
        (tmp_path / f"{name}.py").write_text("import tensorflow as tf\n" + textwrap.dedent(source))
    _hook.install()
    return {use.name: use.stops for use in _check.check(str(tmp_path / "old.py")).missing}


def test_what_is_called_stops_the_run(tmp_path):
    program = """
    import model
    from model import helper as h

    class Base:
        def inherited(self):
            tf.inherited_name()

    class Net(Base):
        def method(self):
            return [tf.method_name for _ in range(3)]
        def nobody_calls_this(self):
            tf.unused_method_of_used_class()

    class Hook(tf.train.SessionRunHook):
        def begin(self):
            tf.hook_name()

    class Unused(tf.train.NoSuchBase):
        def method(self):
            tf.unused_method()

    def model_fn(features, labels, mode):
        def inner():
            tf.inner_name()
        inner()
        Net().inherited()
        return Net().method()

    def nobody_calls():
        tf.unused_name()

    def main(_):
        tf.estimator.Estimator(model_fn).train(hooks=[Hook()])
        model.build(lambda: tf.lambda_name)
        h()

    if __name__ == "__main__":
        tf.app.run()
    """
    model = """
    def build(f):
        tf.build_name()
    def helper():
        tf.helper_name()
    def unused():
        tf.unused_helper()
    if __name__ == "__main__":
        unused()
    """
    stops = (
        "inherited_name method_name train.NoSuchBase inner_name lambda_name build_name helper_name hook_name".split()
    )
    rest = "unused_method unused_name unused_helper unused_method_of_used_class".split()
    assert missing(tmp_path, program, model=model) == {**dict.fromkeys(stops, True), **dict.fromkeys(rest, False)}


def test_a_program_that_asks_first_is_run(tmp_path):
    program = """
    import sys
    try:
        from tensorflow import tried_import
    except ImportError:
        tried_import = tf.handler_name
    try:
        tf.not_tried()
    except ValueError:
        tf.after_an_error()
    if hasattr(tf, "asked"):
        tf.asked()
    has = hasattr(tf, "noted")
    f = tf.noted if has else None
    g = has and tf.noted_too
    if tf.__version__ >= "2":
        tf.newer()
    if sys.argv:
        tf.in_a_branch()
        tf.contrib.cudnn_rnn.no_such_network()
    def gpu():
        tf.contrib.nccl.no_such_sum()
    gpu()
    """
    stops = {"not_tried", "in_a_branch", "contrib.cudnn_rnn.no_such_network"}
    asked = {"contrib.nccl.no_such_sum", "after_an_error"}
    asked |= {"tried_import", "handler_name", "asked", "noted", "noted_too", "newer"}
    assert missing(tmp_path, program) == {**dict.fromkeys(stops, True), **dict.fromkeys(asked, False)}


def test_questions_in_other_forms(tmp_path):
    program = """
    import contextlib
    import unittest
    DEBUG = False

    def returns_early():
        if not hasattr(tf, "late"):
            return
        tf.late()
    def is_new():
        return hasattr(tf, "newer")
    def skipping():
        for _ in range(3):
            if not hasattr(tf, "looped"):
                continue
            tf.looped()
        tf.stop_a()
    returns_early(), skipping()
    if is_new():
        tf.newer()
    if getattr(tf, "got", None):
        tf.got()
    with contextlib.suppress(AttributeError):
        tf.suppressed
    if DEBUG:
        tf.debugged
    else:
        tf.stop_b
    DEBUG and tf.not_computed
    DEBUG or tf.stop_c
    if tf.executing_eagerly():
        tf.eager
    else:
        tf.stop_d
    class Test(unittest.TestCase):
        @unittest.skip("not here")
        def test_skipped(self):
            tf.skipped
        def test(self):
            tf.stop_e
    unittest.main()
    """
    stops = [f"stop_{letter}" for letter in "abcde"]
    rest = "late newer looped got suppressed debugged not_computed eager skipped".split()
    assert missing(tmp_path, program) == {**dict.fromkeys(stops, True), **dict.fromkeys(rest, False)}


def test_names_that_the_program_makes_itself(tmp_path):
    program = """
    import other
    if not hasattr(tf, "made_name"):
        tf.made_name = tf.multiply
    setattr(tf, "set_name", tf.subtract)
    tf.made_name(1, 2), tf.set_name(1, 2), tf.made_name.__doc__
    try:
        from tensorflow import own_name
    except ImportError:
        def own_name(): ...
    try:
        value = tf.no_such_value
    except AttributeError:
        value = None
    own_name(), value.x
    layers = tf.layers
    def change():
        global layers
        layers = unknown.layers
    change()
    layers.perhaps()
    def shadows(tf):
        tf.not_ours()
    shadows(other)
    tf.made_elsewhere(), tf.nn.made_below()
    class Net:
        def __init__(self):
            self.cell = tf.no_such_cell
    Net()
    """
    found = missing(tmp_path, program, other="tf.made_elsewhere = tf.nn.made_below = 1\n")
    assert found.pop("no_such_cell")
    assert found == dict.fromkeys(["own_name", "no_such_value", "layers.perhaps"], False)


def test_names_in_circles_come_to_an_end(tmp_path):
    program = """
    from a import *
    def find(node):
        here = node.root
        while here.key:
            here = here.left
            here = here.right
            here = here.up
            here = here.down
        return here.found, range(3), no_such_name
    find(tf)
    """
    stars = "".join(f"from {name} import *\n" for name in "abcd")
    assert missing(tmp_path, program, a=stars, b=stars, c=stars, d=stars) == {}


def test_what_is_imported_in_two_ways_is_not_of_python_2(tmp_path):
    source = """
    try:
        import cPickle as pickle
    except ImportError:
        import pickle
    try:
        text = unicode
    except NameError:
        text = str
    import Queue
    """
    missing(tmp_path, source)
    assert [text for _, _, text in _check.check(str(tmp_path / "old.py")).old] == [
        "the module Queue is queue in Python 3"
    ]


def test_aliases_by_assignment_are_followed(tmp_path):
    program = """
    import helpers
    from helpers import K
    layers = tf.contrib.layers
    slim, nn = tf.contrib.slim, tf.nn
    L = K.layers
    layers.no_a(), slim.no_b(), nn.no_c(), L.no_d(), helpers.K.no_e()

    class Net:
        def __init__(self):
            self.tf = tf
            self.list = []
        def call(self, layers):
            self.list.no_name(), layers.no_name()
            return self.tf.no_f()

    def other():
        nn = []
        nn.no_name()
    Net().call([]), other()
    """
    found = missing(tmp_path, program, helpers="K = tf.keras\n")
    assert found == dict.fromkeys(
        "contrib.layers.no_a contrib.slim.no_b nn.no_c keras.layers.no_d keras.no_e no_f".split(), True
    )


def test_modules_of_python_2_count_where_they_are_imported(tmp_path):
    (tmp_path / "two.py").write_text("print 'two'\n")
    assert missing(tmp_path, "def unused():\n    import two\n") == {}
    with pytest.raises(SyntaxError, match="print"):
        missing(tmp_path, "import two\n")


def test_missing_names_end_the_run_before_it_begins(tmp_path):
    program = tmp_path / "old.py"
    program.write_text(
        "import tensorflow as tf\nprint('begins')\ndef f():\n    return tf.no_such_a, tf.no_such_b\n"
        "if not tf.__name__:\n    f()\n"
    )
    text, status = systole("run", str(program))
    assert status == 1
    assert "begins" not in text
    assert "old.py:4: tf.no_such_a is missing\n" in text
    assert "tf.no_such_a, tf.no_such_b" in text and "--allow-missing" in text
    text, status = systole("run", "--allow-missing", str(program))
    assert ("begins" in text, status) == (True, 0)


def test_check_reads_several_files_and_folders(tmp_path):
    (tmp_path / "inner").mkdir()
    for name in ("a", "inner/b", "inner/c"):
        (tmp_path / f"{name}.py").write_text(f"import tensorflow as tf\ntf.nn.relu, tf.no_{name[-1]}\n")
    text, status = systole("check", str(tmp_path / "a.py"), str(tmp_path / "inner"))
    assert status == 1
    assert [line.split()[1] for line in text.splitlines()[:3]] == ["tf.no_a", "tf.no_b", "tf.no_c"]
    assert text.splitlines()[3] == "1 names are there, 3 are missing"
    text, status = systole("check", str(tmp_path / "a.py"), str(tmp_path / "none.py"))
    assert (status, "none.py" in text) == (2, True)
    (tmp_path / "inner" / "b.py").write_text("print 'two'\n")
    text, status = systole("check", str(tmp_path / "a.py"), str(tmp_path / "inner"))
    assert (status, "inner/b.py:1: " in text) == (1, True)
    assert text.splitlines()[-1] == "1 names are there, 2 are missing"
    text, status = systole("check", str(tmp_path / "a.py"), "--json")
    assert (status, "option, got '--json'" in text) == (2, True)


def test_help_of_run():
    if not COMMAND:
        pytest.skip("SYSTOLE_COMMAND names no program")
    for words in (["run", "--help"], ["run", "-h"], ["help", "run"]):
        text, status = systole(*words)
        assert status == 0
        assert all(word in text for word in ("PROGRAM", "ARGS", "--tpu", "--allow-missing"))
    text, status = systole("run")
    assert (status, "PROGRAM.py, got none" in text) == (2, True)


def test_a_python_without_the_package_is_told_what_to_install(tmp_path):
    if not COMMAND:
        pytest.skip("SYSTOLE_COMMAND names no program")
    (tmp_path / "python3").symlink_to(sys.executable)
    environment = {"PATH": str(tmp_path), "PYTHONPATH": "/nowhere"}
    call = [COMMAND, "run", "old.py"]
    run = subprocess.run(call, capture_output=True, text=True, timeout=60, env=environment, cwd="/")
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (1, "", 1)
    assert "-m pip install systole-tpu" in run.stderr


@pytest.mark.parametrize("tpu", ["v9-8", "v2", "v2-9999", "my_tpu", "grpc://", "grpc://host", "http://host:1"])
def test_a_wrong_tpu_is_refused_before_the_program_begins(tmp_path, tpu):
    program = tmp_path / "old.py"
    program.write_text("print('begins')\n")
    text, status = systole("run", "--tpu", tpu, str(program))
    assert status == 2
    assert f"--tpu, got '{tpu}', expected" in text and "begins" not in text


def test_a_python_without_numpy_is_told_what_to_install(tmp_path):
    program = tmp_path / "old.py"
    program.write_text("print('begins')\n")
    call = "import sys; sys.modules['numpy'] = None; from systole_tpu import command; sys.exit(command.main())"
    run = subprocess.run([sys.executable, "-c", call, "run", str(program)], capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stdout) == (1, "")
    assert len(run.stderr.splitlines()) == 1
    assert "-m pip install numpy" in run.stderr
