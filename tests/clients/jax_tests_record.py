"""A pytest plugin for jax_tests.py: appends a line of JSON to a file at the start and at the end of each test.

JAX_TESTS_RECORD is the file. JAX_TESTS_IDS is a file with the ids of the tests to run, one a line; without it
JAX_TESTS_LIMIT is the largest number of tests, chosen by the hashes of their ids.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


def record(**fields: Any) -> None:
    with open(os.environ["JAX_TESTS_RECORD"], "a") as file:
        file.write(json.dumps(fields) + "\n")


def pytest_sessionstart() -> None:
    import jax
    from jax._src import test_util  # noqa: F401, which has the option

    # The device under test: tests that ask for one by its name take ours for a CPU.
    jax.config.update("jax_test_dut", "cpu")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ids = os.environ.get("JAX_TESTS_IDS")
    if ids:
        place = {name: i for i, name in enumerate(Path(ids).read_text().splitlines())}
        items[:] = sorted((i for i in items if i.nodeid in place), key=lambda i: place[i.nodeid])
        return
    total, limit = len(items), int(os.environ["JAX_TESTS_LIMIT"])
    if total > limit:
        items[:] = sorted(items, key=lambda i: hashlib.sha256(i.nodeid.encode()).digest())[:limit]
    record(event="collected", total=total, ids=[i.nodeid for i in items])


def pytest_runtest_logstart(nodeid: str) -> None:
    record(event="start", id=nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    report = (yield).get_result()
    if report.when != "call" and report.outcome == "passed":
        return
    messages = []
    error = call.excinfo.value if call.excinfo is not None else None
    while error is not None and len(messages) < 5:
        messages.append(f"{type(error).__name__}: {str(error)[:600]}")
        error = error.__cause__
    record(event="end", id=item.nodeid, outcome=report.outcome, messages=messages)
