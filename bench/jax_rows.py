"""Compares JAX on Systole with JAX on its own CPU, in one process, in turns.

Each row runs on both platforms alternately; a figure is the median of the rounds, a ratio the median of the ratios of
adjacent rounds. Ratios above 1 mean that Systole is faster. The outputs of both must agree.

usage: jax_rows.py [--rounds 5] [--filter REGEX] [--json FILE] [--table FILE]
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PLATFORMS = ("systole", "cpu")
# What a measurement of a row lasts.
SECONDS = 0.3


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def _complex(*shape: int) -> np.ndarray:
    return (_normal(*shape) + 1j * _normal(*shape)[..., ::-1]).astype(np.complex64)


def _mlp(params: Any, x: Any, y: Any) -> Any:
    for weights, bias in params[:-1]:
        x = jax.nn.relu(x @ weights + bias)
    weights, bias = params[-1]
    logits = x @ weights + bias
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


def _mlp_step(params: Any, x: Any, y: Any) -> Any:
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.grad(_mlp)(params, x, y))


def _mlp_inputs() -> tuple[Any, ...]:
    sizes = (784, 512, 512, 10)
    params = [(_normal(a, b) * 0.05, _normal(b) * 0.0) for a, b in itertools.pairwise(sizes)]
    return params, _normal(128, 784), np.arange(128) % 10


def _cnn(params: Any, x: Any) -> Any:
    for kernel in params[:2]:
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean((x.reshape(x.shape[0], -1) @ params[2]) ** 2)


def _cnn_step(params: Any, x: Any) -> Any:
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, jax.grad(_cnn)(params, x))


def _cnn_inputs() -> tuple[Any, ...]:
    params = [_normal(3, 3, 1, 32) * 0.1, _normal(3, 3, 32, 64) * 0.05, _normal(7 * 7 * 64, 10) * 0.01]
    return params, _normal(64, 28, 28, 1)


def _attention(x: Any, wq: Any, wk: Any, wv: Any) -> Any:
    def heads(weights: Any) -> Any:
        return (x @ weights).reshape(x.shape[0], x.shape[1], 4, -1)

    return jnp.mean(jax.nn.dot_product_attention(heads(wq), heads(wk), heads(wv), is_causal=True) ** 2)


def _lstm(x: Any, wx: Any, wh: Any) -> Any:
    def step(state: Any, at: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(at @ wx + h @ wh, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zero = jnp.zeros((x.shape[1], wh.shape[0]), x.dtype)
    return jnp.mean(jax.lax.scan(step, (zero, zero), x)[0][0] ** 2)


# A function and its arguments.
ROWS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "jax.dispatch": (lambda x: x + 1, lambda: (np.float32(1),)),
    "jax.matmul_1024": (lambda a, b: a @ b, lambda: (_normal(1024, 1024), _normal(1024, 1024))),
    "jax.elementwise_4m": (lambda x: jnp.tanh(x) * jnp.exp(-x * x), lambda: (_normal(4_000_000),)),
    "jax.reduce_4m": (lambda x: jnp.sum(x * x), lambda: (_normal(4_000_000),)),
    "jax.fft_1d_batch": (lambda x: jnp.abs(jnp.fft.fft(x)), lambda: (_normal(1000, 1024),)),
    "jax.fft_2d_512": (lambda x: jnp.abs(jnp.fft.fft2(x)), lambda: (_normal(512, 512),)),
    "jax.rfft_2d_512": (lambda x: jnp.abs(jnp.fft.rfft2(x)), lambda: (_normal(512, 512),)),
    "jax.fft_1k": (jnp.fft.fft, lambda: (_complex(1024),)),
    "jax.fft_64k": (jnp.fft.fft, lambda: (_complex(65_536),)),
    "jax.fft_1m": (jnp.fft.fft, lambda: (_complex(1_048_576),)),
    "jax.fft_64_of_4k": (jnp.fft.fft, lambda: (_complex(64, 4096),)),
    "jax.fft_2d_256": (jnp.fft.fft2, lambda: (_complex(256, 256),)),
    "jax.fft_2d_1024": (jnp.fft.fft2, lambda: (_complex(1024, 1024),)),
    "jax.rfft_64k": (jnp.fft.rfft, lambda: (_normal(65_536),)),
    "jax.irfft_64k": (jnp.fft.irfft, lambda: (_complex(32_769),)),
    "jax.cumsum_1m": (jnp.cumsum, lambda: (_normal(1_000_000),)),
    "jax.cumsum_columns": (lambda x: jnp.cumsum(x, axis=0), lambda: (_normal(1000, 1000),)),
    "jax.scan_tree_64k": (
        lambda x: jax.lax.associative_scan(jnp.add, x),
        lambda: (_normal(65_536),),
    ),
    "jax.cummax_rows": (lambda x: jax.lax.cummax(x, axis=1), lambda: (_normal(1000, 1000),)),
    "jax.cumlogsumexp_rows": (lambda x: jax.lax.cumlogsumexp(x, axis=1), lambda: (_normal(500, 1000),)),
    "jax.sort_1m": (jnp.sort, lambda: (_normal(1_000_000),)),
    "jax.scatter_add": (
        lambda x, i, u: x.at[i].add(u),
        lambda: (np.zeros((10_000, 64), np.float32), np.arange(20_000) * 7919 % 10_000, _normal(20_000, 64)),
    ),
    "jax.mlp_step": (_mlp_step, _mlp_inputs),
    "jax.cnn_step": (_cnn_step, _cnn_inputs),
    "jax.attention_grad": (
        jax.grad(_attention, (1, 2, 3)),
        lambda: (_normal(4, 256, 128), *(_normal(128, 128) * 0.1 for _ in range(3))),
    ),
    "jax.lstm_grad": (
        jax.grad(_lstm, (1, 2)),
        lambda: (_normal(64, 32, 64), _normal(64, 512) * 0.1, _normal(128, 512) * 0.1),
    ),
}


class Measured:
    """One row on one platform."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], on: str) -> None:
        self.arguments = jax.device_put(arguments, jax.devices(on)[0])
        begin = time.perf_counter()
        self.call = jax.jit(function).lower(*self.arguments).compile()
        self.compile_seconds = time.perf_counter() - begin
        self.result = jax.block_until_ready(self.call(*self.arguments))
        self.runs = max(1, int(SECONDS / max(self._time(1), 1e-7) / 4))
        self.runs = max(1, int(SECONDS / self._time(self.runs)))

    def _time(self, runs: int) -> float:
        begin = time.perf_counter()
        for _ in range(runs):
            result = self.call(*self.arguments)
        jax.block_until_ready(result)
        return (time.perf_counter() - begin) / runs

    def seconds(self) -> float:
        """Returns the time of one call."""
        return self._time(self.runs)


def _difference(ours: Any, theirs: Any) -> float:
    def of(a: Any, b: Any) -> float:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        return float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-30))

    return max(of(a, b) for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True))


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Returns the figures of a row."""
    function, arguments = ROWS[name]
    both = {on: Measured(function, arguments(), on) for on in PLATFORMS}
    times: dict[str, list[float]] = {on: [] for on in PLATFORMS}
    for turn in range(rounds):
        for on in PLATFORMS if turn % 2 == 0 else reversed(PLATFORMS):
            times[on].append(both[on].seconds())
    return {
        "row": name,
        "systole_us": statistics.median(times["systole"]) * 1e6,
        "cpu_us": statistics.median(times["cpu"]) * 1e6,
        "ratio": statistics.median(c / s for s, c in zip(times["systole"], times["cpu"], strict=True)),
        "compile_ratio": both["cpu"].compile_seconds / both["systole"].compile_seconds,
        "difference": _difference(both["systole"].result, both["cpu"].result),
    }


def main() -> None:
    """Measures the rows and prints them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each row on each platform")
    parser.add_argument("--filter", default="", help="only rows that match this regular expression")
    parser.add_argument("--json", type=pathlib.Path, help="also writes the figures to this file")
    parser.add_argument("--table", type=pathlib.Path, help="also writes a table of Markdown to this file")
    args = parser.parse_args()
    names = [name for name in ROWS if re.search(args.filter, name)]
    if not names:
        sys.exit(f"rows: got no row that matches {args.filter!r}, expected one of {', '.join(ROWS)}")
    rows = []
    print(f"{'row':24}{'systole':>12}{'cpu':>12}{'cpu/systole':>13}{'compile':>9}{'difference':>12}")
    for name in names:
        row = measure(name, args.rounds)
        rows.append(row)
        print(
            f"{name:24}{row['systole_us']:9.1f} us{row['cpu_us']:9.1f} us{row['ratio']:13.2f}"
            f"{row['compile_ratio']:9.2f}{row['difference']:12.1e}",
            flush=True,
        )
    if args.json:
        args.json.write_text(
            json.dumps({"jax": jax.__version__, "machine": platform.processor(), "rows": rows}, indent=1)
        )
    if args.table:
        lines = [
            f"| {r['row']} | {r['systole_us']:.1f} | {r['cpu_us']:.1f} | {r['ratio']:.2f} | {r['compile_ratio']:.2f} |"
            for r in rows
        ]
        head = [
            "| row | systole, us | JAX's CPU, us | CPU / systole | time to compile, CPU / systole |",
            "|---|---|---|---|---|",
        ]
        args.table.write_text("\n".join(head + lines) + "\n")


if __name__ == "__main__":
    main()
