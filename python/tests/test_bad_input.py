"""Wrong settings and uses: an error with a message, from a process that goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systole_tpu import library_path

jax = pytest.importorskip("jax")
from jax._src import compiler  # noqa: E402
from jaxlib import xla_client  # noqa: E402

FIRST = "import jax\ntry:\n  jax.devices()\nexcept RuntimeError as error:\n  print(error)\n"


def output_of(program: str, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if k != "SYSTOLE_CORES"} | environment
    done = subprocess.run([sys.executable, "-c", program], env=env, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SYSTOLE_CORES", "abc", "SYSTOLE_CORES, got 'abc', expected 1 or more"),
        ("SYSTOLE_CORES", "0", "SYSTOLE_CORES, got '0'"),
        ("SYSTOLE_CORES", "9999", "client option 'cores', got 9999, expected 1 to 2048"),
        ("SYSTOLE_TPU", "v9-8", "SYSTOLE_TPU, got 'v9-8', expected one of v2-8, v3-8"),
        ("SYSTOLE_PJRT_LIBRARY", "/nowhere.so", "no file /nowhere.so"),
        ("SYSTOLE_PJRT_LIBRARY", __file__, "test_bad_input.py"),
        ("SYSTOLE_PJRT_OPTIONS", "nonsense=1", "client option, got 'nonsense', expected one of cores"),
        ("SYSTOLE_PJRT_OPTIONS", "backend=gpu", "option 'backend', got 'gpu', expected one of cpu"),
    ],
)
def test_settings_that_cannot_be(variable: str, value: str, message: str) -> None:
    assert message in output_of(FIRST, **{variable: value})


def test_another_platform_is_used_all_the_same() -> None:
    program = "import jax\nprint(jax.numpy.ones(2) + 1, jax.default_backend())"
    assert output_of(program, SYSTOLE_CORES="abc", JAX_PLATFORMS="cpu") == "[2. 2.] cpu\n"


def test_another_version_of_jax_is_named() -> None:
    program = """
import jax
import jax._src.lax.control_flow.conditionals as conditionals
del conditionals.platform_index_p
jax.__version__ = "9.9"
""" + FIRST.removeprefix("import jax\n")
    assert "systole_tpu: got JAX 9.9 with jaxlib 0" in output_of(program)


def test_more_devices_than_there_are() -> None:
    with pytest.raises(ValueError, match="9"):
        jax.make_mesh((9,), ("x",))
    with pytest.raises(ValueError, match="8 times, but the dimension size is 9"):
        jax.pmap(lambda a: a)(np.ones((9, 2)))
    with pytest.raises(IndexError):
        jax.devices()[8]


def test_a_buffer_of_another_platform_is_refused() -> None:
    here, there = jax.devices()[0], jax.devices("cpu")[0]
    with pytest.raises(ValueError, match="incompatible devices"):
        jax.jit(lambda a, b: a + b)(jax.device_put(1.0, here), jax.device_put(1.0, there))


def test_deleted_and_donated_arrays_are_refused() -> None:
    a = jax.device_put(np.ones(3), jax.devices()[0])
    a.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jax.jit(lambda x: x + 1)(a)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cores": 2.5}, "client option 'cores', got a number, expected an integer"),
        ({"cores": True}, "client option 'cores', got true or false, expected an integer"),
        ({"cores": [1, 2]}, "option 'cores', got a value of a type that it does not take"),
        ({"cores": "x"}, "client option 'cores', got a string, expected an integer"),
        ({"cores": -1}, "client option 'cores', got -1, expected 1 to 2048"),
        ({"cores": 10**30}, "client option 'cores', got a number"),
        ({"": 1}, "client option, got '', expected one of cores"),
        ({"backend": 7}, "option 'backend', got a value of a type that it does not take"),
        ({"core_memory": -5}, "client option 'core_memory', got -5, expected bytes, or 0"),
        ({"core_kind": 3}, "client option 'core_kind', got an integer, expected a string"),
        ({"tpu": 3}, "option 'tpu', got a value of a type that it does not take"),
        ({"tpu": "v9"}, "client option 'tpu', got 'v9', expected one of v2-8, v3-8"),
        ({"tpu": "v3-8", "cores": 4}, "cores, got 4 with client option 'tpu'=v3-8, expected 8 or none"),
        ({"node_id": 0, "num_nodes": 2}, "UNIMPLEMENTED: systole plugin: jax.distributed, got 2 processes"),
        ({"num_nodes": "x"}, "option 'num_nodes', got a value of a type that it does not take"),
    ],
)
def test_client_options_of_wrong_kinds(options: dict[str, Any], message: str) -> None:
    jax.devices()
    with pytest.raises(jax.errors.JaxRuntimeError) as raised:
        xla_client.make_c_api_client("systole", options, None)
    assert message in str(raised.value)


def test_one_process_of_jax_distributed() -> None:
    program = """
import socket
import jax
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % free.getsockname()[1]
jax.distributed.initialize(address, num_processes=1, process_id=0)
print(jax.numpy.ones(2) + 1, jax.process_count(), jax.default_backend())
"""
    assert output_of(program) == "[2. 2.] 1 systole\n"


@pytest.mark.parametrize(
    ("assignment", "message"),
    [([[0], [0]], "device 0 twice, expected once"), ([[0] * 9], "device 0 twice"), ([[9]], "device ID 9")],
)
def test_programs_for_devices_that_are_not_there(assignment: list[list[int]], message: str) -> None:
    ids = np.array(assignment)
    options = compiler.get_compile_options(
        num_replicas=ids.shape[0], num_partitions=ids.shape[1], device_assignment=ids
    )
    module = jax.jit(lambda a: a + 1).lower(np.ones(3)).compiler_ir()
    devices = xla_client.DeviceList((jax.devices()[0],))
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        jax.devices()[0].client.compile_and_load(module, devices, options)


@pytest.mark.parametrize(
    ("device", "value", "message"),
    [
        (1, np.ones(3, np.float32), "got a buffer of device 1, expected device 0"),
        (0, np.ones(4, np.float32), r"got f32\[4\], expected f32\[3\]"),
        (0, np.ones(3, np.int32), r"got s32\[3\], expected f32\[3\]"),
    ],
)
def test_arguments_that_a_program_does_not_take(device: int, value: Any, message: str) -> None:
    program = jax.jit(lambda a: a + 1).lower(jax.device_put(np.ones(3, np.float32), jax.devices()[0])).compile()
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        program.runtime_executable().execute_sharded([jax.device_put(value, jax.devices()[device])])


def test_a_buffer_of_another_client_is_refused() -> None:
    other = xla_client.make_c_api_client("systole", {"cores": 3}, None)
    program = jax.jit(lambda a: a + 1).lower(jax.device_put(np.ones(3, np.float32), jax.devices()[0])).compile()
    array = jax.device_put(np.ones(3, np.float32), jax.sharding.SingleDeviceSharding(other.devices()[0]))
    with pytest.raises(jax.errors.JaxRuntimeError, match="a buffer of device 0 of another client, expected device 0"):
        program.runtime_executable().execute_sharded([array])


def test_damaged_programs_are_refused() -> None:
    client, devices = jax.devices()[0].client, xla_client.DeviceList((jax.devices()[0],))
    program = jax.jit(lambda a: a @ a).lower(np.ones((3, 3), np.float32)).compile()
    whole = bytes(program.runtime_executable().serialize())
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    places = np.random.default_rng(0).integers(0, len(whole), 40)
    for damaged in [b"", *(whole[:p] for p in places), *(whole[:p] + b"\xff\0" + whole[p + 2 :] for p in places)]:
        try:
            client.deserialize_executable(damaged, devices, options)
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            assert str(error)
    client.deserialize_executable(whole, devices, options)


@pytest.mark.parametrize("kind", ["ValueError", "SystemExit", "KeyboardInterrupt"])
def test_callbacks_that_raise_leave_the_process_alive(kind: str) -> None:
    program = f"""
import jax, numpy as np
def fail(x):
    raise {kind}("no more")
def step(i, x):
    return jax.pure_callback(fail, jax.ShapeDtypeStruct((3,), "float32"), x)
try:
    print(jax.jit(lambda x: jax.lax.fori_loop(0, 3, step, x))(np.ones(3, np.float32)))
except Exception as error:
    print("no more" in str(error))
print(jax.numpy.ones(2) + 1)
"""
    assert output_of(program) == "True\n[2. 2.]\n"


def test_devices_and_programs_that_go_while_a_program_runs() -> None:
    program = """
import jax, jax.extend
for _ in range(2):
    a = jax.numpy.ones((500, 500))
    compiled = jax.jit(lambda a: [a := a @ a for _ in range(9)][-1]).lower(a).compile()
    pending = compiled(a)
    del compiled
    pending.delete()
    other = jax.jit(lambda a: [a := a @ a for _ in range(8)][-1])(a)
    jax.extend.backend.clear_backends()
    del a, other, pending
print(jax.numpy.ones(2) + 1, jax.default_backend())
"""
    assert output_of(program) == "[2. 2.] systole\n"


def test_two_libraries_in_one_process(tmp_path: Path) -> None:
    other = tmp_path / "libother.so"
    other.write_bytes(library_path().read_bytes())
    program = f"""
import jax, numpy as np
import jax._src.xla_bridge as xla_bridge
jax.config.update("jax_platforms", "systole,other,cpu")
xla_bridge.register_plugin("other", library_path={str(other)!r}, options={{"cores": 3}})
for platform in ("systole", "other"):
    device = jax.devices(platform)[-1]
    a = jax.device_put(np.ones((3, 3), np.float32), device)
    print(jax.jit(lambda a: (jax.numpy.sin(a) @ a).sum())(a).round(2), device.id)
"""
    assert output_of(program, SYSTOLE_CORES="2") == "22.72 1\n22.72 2\n"


def test_another_jaxlib_is_named() -> None:
    program = """
import jax
from jaxlib import xla_client
del xla_client.register_custom_type_handler
import jaxlib
jaxlib.__version__ = "9.8"
""" + FIRST.removeprefix("import jax\n")
    assert "with jaxlib 9.8, expected 0.10: AttributeError" in output_of(program)
