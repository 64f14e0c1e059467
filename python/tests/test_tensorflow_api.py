"""The names of TensorFlow 1.15 and their arguments: the list, how it is compared, and the page about it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("systole_tpu._core")
API = Path(__file__).parent / "api"
PAGE = Path(__file__).parents[2] / "docs/python_api.md"
compare = runpy.run_path(str(API / "compare.py"))
record = runpy.run_path(str(API / "record.py"))


def why(mine, wanted):
    parameters = compare["parameters_of_text"]
    return compare["difference"](parameters(mine), parameters(wanted))


def test_differences_are_named():
    assert why("x, axis=None, name=None", "x, axis=None, name=None") == ""
    assert why("x, name=None", "x, axis=None, name=None") == "without axis"
    assert why("x, name=None, axis=None", "x, axis=None, name=None") == "another order"
    assert why("x, mine=1, name=None", "x, name=None") == "own arguments between"
    assert why("x, name=None, mine=1", "x, name=None") == ""
    assert why("x, **rest", "x, name=None") == "takes name by keyword only"
    assert why("x, rate=0.1", "x, rate=0.5") == "default of rate: 0.1, TensorFlow's: 0.5"
    assert why("x, rate=None", "x, rate=0.5") == ""
    assert why("x, rate", "x, rate=0.5") == "default of rate: none, TensorFlow's: 0.5"
    assert why("x=1", "x") == ""
    assert why("x, init=...", "x, init=None") == ""
    assert compare["difference"](None, {}) == "arguments cannot be seen"


def test_golden_files_are_read(tmp_path):
    (tmp_path / "tensorflow.nn.pbtxt").write_text(
        'path: "tensorflow.nn"\ntf_module {\n  member {\n    name: "cell"\n    mtype: "<type \\\'module\\\'>"\n  }\n'
        "  member_method {\n    name: \"top\"\n    argspec: \"args=[\\'input\\', \\'k\\', \\'type\\'], varargs=None, "
        "keywords=None, defaults=[\\'1\\', \\\"<dtype: 'int32'>\\\"], \"\n  }\n}\n"
    )
    (tmp_path / "tensorflow.-session.pbtxt").write_text(
        'path: "tensorflow.Session"\ntf_class {\n  member_method {\n    name: "__init__"\n    argspec: '
        "\"args=[\\'self\\', \\'target\\'], varargs=None, keywords=None, defaults=[\\'\\'], \"\n  }\n}\n"
    )
    assert sorted(record["of_golden"](str(tmp_path))) == [
        "Session(target='')",
        "nn.top(input, k=1, type='int32')",
        "nn/",
    ]


def test_the_list_is_whole():
    names = compare["theirs"]()
    assert len(names) > 3000
    assert names["nn.relu"] == "features, name=None"
    assert names["layers.dense"].startswith("inputs, units, activation=None, use_bias=True")
    assert "contrib.tpu.TPUEstimator" in names


def test_names_that_the_page_calls_equal_still_are():
    found = compare["compare"]()
    equal = [
        name
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("- equal: ")
        for name in re.findall(r"`([^`]+)`", line)
    ]
    assert len(equal) > 600
    worse = {name: found[name] for name in equal if found[name][0] != "equal"}
    assert worse == {}
