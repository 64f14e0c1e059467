"""One workload on one system, which measures whenever standard input has a line, a number of seconds.

It first prints a line of JSON: the seconds that compiling took and the losses of two steps, or the outputs' largest
difference from the reference. Then a line for each measurement, {"seconds": [of a step, for each chunk of steps]}.
`systole hlo bench --turns` does the same for a program.

usage: worker.py SYSTEM WORKLOAD THREADS FOLDER      SYSTEM: export, or one of SYSTEMS
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import workloads

# Long against the clock's own cost.
CHUNK_SECONDS = 0.03


class Job:
    """What a system runs: `run(steps)` makes steps and waits for them."""

    def __init__(self, run: Callable[[int], None], compile_seconds: float, results: dict[str, Any]) -> None:
        self.run = run
        self.first = {"compile_seconds": compile_seconds, **results}


def _difference(outputs: Any, folder: pathlib.Path) -> dict[str, Any]:
    reference = np.load(folder / "reference.npy").astype(np.float64)
    outputs = np.asarray(outputs, np.float64)
    if outputs.shape != reference.shape:
        return {"difference": float("nan")}
    return {"difference": float(np.abs(outputs - reference).max() / np.abs(reference).max())}


def _timed(step: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    result = step()
    return result, time.perf_counter() - begin


def export(name: str, folder: pathlib.Path) -> None:
    """Writes the program, its inputs, and the results of XLA's CPU: two losses, or the outputs."""
    import jax
    import jax_models

    function, state, inputs = jax_models.make(name)
    trains = workloads.WORKLOADS[name].trains
    lowered = jax.jit(function, donate_argnums=0 if trains else (), keep_unused=True).lower(state, *inputs)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.mlir").write_text(lowered.as_text())
    leaves = jax.tree.leaves((state, *inputs))
    for i, leaf in enumerate(leaves):
        np.save(folder / f"{i}.npy", leaf)
    compiled = lowered.compile()
    facts: dict[str, Any] = {"arguments": len(leaves)}
    if trains:
        losses = []
        for _ in range(2):
            state, loss = compiled(state, *inputs)
            losses.append(float(loss))
        facts["losses"] = losses
    else:
        np.save(folder / "reference.npy", np.asarray(compiled(state, *inputs), np.float32))
    (folder / "facts.json").write_text(json.dumps(facts))


def jax_job(name: str, folder: pathlib.Path) -> Job:
    import jax
    import jax_models

    function, first, inputs = jax_models.make(name)
    trains = workloads.WORKLOADS[name].trains
    jitted = jax.jit(function, donate_argnums=0 if trains else (), keep_unused=True)
    lowered = jitted.lower(first, *inputs)
    compiled, seconds = _timed(lowered.compile)
    inputs = jax.device_put(inputs)
    state = jax.device_put(first)
    losses = []

    def run(steps: int) -> None:
        nonlocal state
        outputs: Any = None
        for _ in range(steps):
            outputs = compiled(state, *inputs)
            if trains:
                state, loss = outputs
                if len(losses) < 2:
                    losses.append(float(loss))
        jax.block_until_ready(outputs)

    if trains:
        run(2)
        return Job(run, seconds, {"losses": losses})
    return Job(run, seconds, _difference(compiled(state, *inputs), folder))


def torch_job(name: str, folder: pathlib.Path, threads: int, compiled: bool) -> Job:
    import torch
    import torch_models

    torch.set_num_threads(threads)
    step = torch_models.Step(name, compiled)
    first, cold = _timed(step)
    second, warm = _timed(step)

    def run(steps: int) -> None:
        for _ in range(steps):
            step()

    if workloads.WORKLOADS[name].trains:
        return Job(run, max(0.0, cold - warm), {"losses": [first.item(), second.item()]})
    return Job(run, max(0.0, cold - warm), _difference(first.float().numpy(), folder))


def tensorflow_job(name: str, threads: int, compiled: bool) -> Job:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import tensorflow as tf
    import tensorflow_models

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    step = tensorflow_models.Step(name, compiled)
    first, cold = _timed(lambda: float(step()))
    second, warm = _timed(lambda: float(step()))

    def run(steps: int) -> None:
        loss: Any = None
        for _ in range(steps):
            loss = step()
        loss.numpy()

    return Job(run, max(0.0, cold - warm), {"losses": [first, second]})


def _onnx_input(name: str) -> Any:
    work = workloads.WORKLOADS[name]
    x = workloads.batch(work.model, work.batch)[0]
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if x.ndim == 4 else x


def onnxruntime_job(name: str, folder: pathlib.Path, threads: int) -> Job:
    import onnxruntime

    x = _onnx_input(name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    path, providers = str(folder / "model.onnx"), ["CPUExecutionProvider"]
    session, seconds = _timed(lambda: onnxruntime.InferenceSession(path, options, providers=providers))

    def run(steps: int) -> None:
        for _ in range(steps):
            session.run(None, {"x": x})

    return Job(run, seconds, _difference(session.run(None, {"x": x})[0], folder))


def openvino_job(name: str, folder: pathlib.Path, threads: int) -> Job:
    import openvino

    x = _onnx_input(name)
    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    path = str(folder / "model.onnx")
    model, seconds = _timed(lambda: core.compile_model(core.read_model(path), "CPU", settings))
    request = model.create_infer_request()

    def run(steps: int) -> None:
        for _ in range(steps):
            request.infer({0: x}, share_inputs=True, share_outputs=True)

    return Job(run, seconds, _difference(request.infer({0: x})[0], folder))


# A system that measures, and how it makes its job.
SYSTEMS: dict[str, Callable[[str, pathlib.Path, int], Job]] = {
    "jax": lambda name, folder, threads: jax_job(name, folder),
    "torch": lambda name, folder, threads: torch_job(name, folder, threads, compiled=False),
    "torch.compile": lambda name, folder, threads: torch_job(name, folder, threads, compiled=True),
    "tensorflow": lambda name, folder, threads: tensorflow_job(name, threads, compiled=False),
    "tensorflow.xla": lambda name, folder, threads: tensorflow_job(name, threads, compiled=True),
    "onnxruntime": onnxruntime_job,
    "openvino": openvino_job,
}


def _chunks(run: Callable[[int], None], steps: int, seconds: float) -> list[float]:
    times: list[float] = []
    left = seconds
    while left > 0 or not times:
        _, took = _timed(lambda: run(steps))
        times.append(took / steps)
        left -= took
    return times


def serve(job: Job) -> None:
    """Answers the lines of standard input until it ends."""
    _, once = _timed(lambda: job.run(1))
    steps = max(1, int(CHUNK_SECONDS / max(once, 1e-7)))
    print(json.dumps(job.first), flush=True)
    for line in sys.stdin:
        print(json.dumps({"seconds": _chunks(job.run, steps, float(line))}), flush=True)


def main() -> None:
    """Runs a worker, or exports a workload."""
    system, name, threads, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4])
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if system == "export":
        export(name, folder)
    elif system == "onnx":
        import torch_models

        torch_models.export_onnx(name, str(folder / "model.onnx"))
    else:
        serve(SYSTEMS[system](name, folder, threads))


if __name__ == "__main__":
    main()
