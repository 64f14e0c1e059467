"""The workloads in JAX: loss, gradients and update are one pure function of the state and the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from workloads import (
    BERT,
    DCGAN,
    DECODER,
    FIRST_SLOT,
    GPT2,
    MOBILE,
    NORMALISED,
    RESNET,
    SLOTS,
    TABLES,
    UNET,
    VIT,
    WHISPER,
    WORKLOADS,
    batch,
    parameters,
    rope,
)

Tree = Any


class Model:
    """Parameters in the type of the computation, and layers that read them by name."""

    def __init__(self, values: Tree, statistics: Tree, bf16: bool, trains: bool) -> None:
        self.values = values
        self.statistics = dict(statistics)
        self._bf16 = bf16
        self.trains = trains

    def cast(self, x: Any) -> Any:
        return x.astype(jnp.bfloat16) if self._bf16 else x

    def get(self, name: str) -> Any:
        return self.cast(self.values[name])

    def dense(self, x: Any, name: str) -> Any:
        return x @ self.get(name) + self.get(name + ".b")

    def mlp(self, x: Any, name: str, layers: int) -> Any:
        for i in range(layers):
            x = self.dense(x, f"{name}{i}")
            x = jax.nn.relu(x) if i + 1 < layers else x
        return x

    def conv(self, x: Any, name: str, stride: int = 1, padding: Any = "SAME", groups: int = 1) -> Any:
        spatial = x.ndim - 2
        layout = ("NWC", "WIO", "NWC") if spatial == 1 else ("NHWC", "HWIO", "NHWC")
        if isinstance(padding, int):
            padding = [(padding, padding)] * spatial
        return lax.conv_general_dilated(
            x, self.get(name), (stride,) * spatial, padding, dimension_numbers=layout, feature_group_count=groups
        )

    def conv_bias(self, x: Any, name: str, stride: int = 1, padding: Any = "SAME") -> Any:
        return self.conv(x, name, stride, padding) + self.get(name + ".b")

    def batch_norm(self, x: Any, name: str) -> Any:
        wide = x.astype(jnp.float32)
        if self.trains:
            mean = wide.mean((0, 1, 2))
            variance = (wide * wide).mean((0, 1, 2)) - mean * mean
            for key, value in ((name + ".m", mean), (name + ".v", variance)):
                self.statistics[key] = 0.9 * self.statistics[key] + 0.1 * value
        else:
            mean, variance = self.statistics[name + ".m"], self.statistics[name + ".v"]
        scale = lax.rsqrt(variance + 1e-5) * self.values[name + ".g"]
        return ((wide - mean) * scale + self.values[name + ".b"]).astype(x.dtype)

    def layer_norm(self, x: Any, name: str, epsilon: float = 1e-5) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + epsilon) * self.get(name + ".g") + self.get(name + ".b")

    def attention(self, x: Any, name: str, heads: int, causal: bool = False) -> Any:
        n, s, width = x.shape
        q, k, v = (self.dense(x, name + part).reshape(n, s, heads, -1) for part in "qkv")
        scores = jnp.einsum("nshd,nthd->nhst", q, k) * (width // heads) ** -0.5
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, -1e30)
        mixed = jnp.einsum("nhst,nthd->nshd", jax.nn.softmax(scores, -1), v)
        return self.dense(mixed.reshape(n, s, width), name + "o")

    def pre_norm_layer(self, x: Any, name: str, heads: int, causal: bool = False, approximate: bool = False) -> Any:
        x = x + self.attention(self.layer_norm(x, name + "n1"), name, heads, causal)
        hidden = self.dense(self.layer_norm(x, name + "n2"), name + "f")
        return x + self.dense(jax.nn.gelu(hidden, approximate=approximate), name + "h")


def max_pool(x: Any, size: int, stride: int, padding: Any = "VALID") -> Any:
    least = np.array(-np.inf, x.dtype)
    return lax.reduce_window(x, least, lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)


def cnn(m: Model, x: Any) -> Any:
    for name in ("c1", "c2"):
        x = max_pool(jax.nn.relu(m.conv_bias(x, name)), 2, 2)
    return m.dense(jax.nn.relu(m.dense(x.reshape(x.shape[0], -1), "d1")), "d2")


def lstm(m: Model, tokens: Any) -> Any:
    x = m.get("emb")[tokens]
    products = (x @ m.get("wx") + m.get("wx.b") + m.get("wh.b")).transpose(1, 0, 2)

    def cell(state: Any, at: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(at + h @ m.get("wh"), 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zero = jnp.zeros((x.shape[0], 128))
    (h, _), _ = lax.scan(cell, (zero, zero), products)
    return m.dense(h, "d")[:, 0]


def resnet(m: Model, x: Any) -> Any:
    x = jax.nn.relu(m.batch_norm(m.conv(x, "c0", 2, 3), "n0"))
    x = max_pool(x, 3, 2, [(0, 0), (1, 1), (1, 1), (0, 0)])
    for stage, (_, blocks, first) in enumerate(RESNET):
        for block in range(blocks):
            k, stride = f"s{stage}b{block}", first if block == 0 else 1
            y = jax.nn.relu(m.batch_norm(m.conv(x, k + "c1"), k + "n1"))
            y = jax.nn.relu(m.batch_norm(m.conv(y, k + "c2", stride, 1), k + "n2"))
            y = m.batch_norm(m.conv(y, k + "c3"), k + "n3")
            if block == 0:
                x = m.batch_norm(m.conv(x, k + "cs", stride, "VALID"), k + "ns")
            x = jax.nn.relu(y + x)
    return m.dense(x.mean((1, 2), dtype=jnp.float32).astype(x.dtype), "fc")


def mobile(m: Model, x: Any) -> Any:
    def relu6(x: Any) -> Any:
        return jnp.clip(x, 0, 6)

    x = relu6(m.batch_norm(m.conv(x, "c0", 2, 1), "n0"))
    for i, (_, stride) in enumerate(MOBILE):
        x = relu6(m.batch_norm(m.conv(x, f"b{i}d", stride, 1, x.shape[-1]), f"b{i}n1"))
        x = relu6(m.batch_norm(m.conv(x, f"b{i}p"), f"b{i}n2"))
    return m.dense(x.mean((1, 2)), "fc")


def decoder(m: Model, tokens: Any) -> Any:
    heads, groups = DECODER["heads"], DECODER["groups"]
    x = m.get("emb")[tokens]
    n, s, width = x.shape
    size = width // heads
    cosines, sines = (jnp.asarray(t, x.dtype)[:, None] for t in rope())

    def norm(x: Any, name: str) -> Any:
        wide = x.astype(jnp.float32)
        scale = lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
        return (wide * scale * m.values[name]).astype(x.dtype)

    def rotate(x: Any) -> Any:
        a, b = x[..., : size // 2], x[..., size // 2 :]
        return jnp.concatenate([a * cosines - b * sines, b * cosines + a * sines], -1)

    mask = jnp.tril(jnp.ones((s, s), bool))
    for i in range(DECODER["layers"]):
        k = f"l{i}"
        h = norm(x, k + "n1")
        query = rotate((h @ m.get(k + "q")).reshape(n, s, heads, size)).reshape(n, s, groups, -1, size)
        key = rotate((h @ m.get(k + "k")).reshape(n, s, groups, size))
        value = (h @ m.get(k + "v")).reshape(n, s, groups, size)
        scores = jnp.einsum("nsgrh,ntgh->ngrst", query, key, preferred_element_type=jnp.float32) * size**-0.5
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(x.dtype)
        mixed = jnp.einsum("ngrst,ntgh->nsgrh", weights, value).reshape(n, s, width)
        x = x + mixed @ m.get(k + "o")
        h = norm(x, k + "n2")
        x = x + (jax.nn.silu(h @ m.get(k + "g")) * (h @ m.get(k + "u"))) @ m.get(k + "d")
    return norm(x, "nf") @ m.get("emb").T


def bert(m: Model, tokens: Any) -> Any:
    x = m.layer_norm(m.get("emb")[tokens] + m.get("pos"), "n0", 1e-12)
    for i in range(BERT["layers"]):
        k = f"l{i}"
        x = m.layer_norm(x + m.attention(x, k, BERT["heads"]), k + "n1", 1e-12)
        hidden = jax.nn.gelu(m.dense(x, k + "f"), approximate=False)
        x = m.layer_norm(x + m.dense(hidden, k + "h"), k + "n2", 1e-12)
    return m.dense(jnp.tanh(m.dense(x[:, 0], "pool")), "cls")


def vit(m: Model, images: Any) -> Any:
    x = m.conv_bias(images, "patch", VIT["patch"], "VALID").reshape(images.shape[0], -1, VIT["width"])
    first = jnp.broadcast_to(m.get("cls"), (x.shape[0], 1, VIT["width"]))
    x = jnp.concatenate([first, x], 1) + m.get("pos")
    for i in range(VIT["layers"]):
        x = m.pre_norm_layer(x, f"l{i}", VIT["heads"])
    return m.dense(m.layer_norm(x, "nf")[:, 0], "fc")


def whisper(m: Model, sound: Any) -> Any:
    x = jax.nn.gelu(m.conv_bias(sound, "c1", 1, 1), approximate=False)
    x = jax.nn.gelu(m.conv_bias(x, "c2", 2, 1), approximate=False) + m.get("pos")
    for i in range(WHISPER["layers"]):
        x = m.pre_norm_layer(x, f"l{i}", WHISPER["heads"])
    return m.layer_norm(x, "nf")


def unet(m: Model, x: Any) -> Any:
    def both(x: Any, name: str) -> Any:
        return jax.nn.relu(m.conv_bias(jax.nn.relu(m.conv_bias(x, name + "a")), name + "b"))

    skipped = []
    for i in range(len(UNET)):
        x = both(x, f"d{i}")
        if i + 1 < len(UNET):
            skipped.append(x)
            x = max_pool(x, 2, 2)
    for i in reversed(range(len(UNET) - 1)):
        x = jax.nn.relu(m.conv_bias(x.repeat(2, 1).repeat(2, 2), f"u{i}c"))
        x = both(jnp.concatenate([skipped[i], x], -1), f"u{i}")
    return m.conv_bias(x, "fc")


def _generate(m: Model, noise: Any) -> Any:
    x = jax.nn.relu(m.dense(noise, "g0")).reshape(-1, 4, 4, DCGAN[0])
    for i in range(1, len(DCGAN) + 1):
        x = lax.conv_transpose(x, m.get(f"g{i}"), (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = x + m.get(f"g{i}.b")
        x = jax.nn.relu(x) if i < len(DCGAN) else jnp.tanh(x)
    return x


def _judge(m: Model, x: Any) -> Any:
    for i in range(len(DCGAN)):
        x = jax.nn.leaky_relu(m.conv_bias(x, f"d{i}", 2, 1), 0.2)
    return m.dense(x.reshape(x.shape[0], -1), "d")[:, 0]


def dcgan_loss(m: Model, noise: Any, images: Any) -> Any:
    """The sum of both losses: neither's gradient reaches the other network."""
    fixed = Model(lax.stop_gradient(m.values), {}, False, True)
    false = _generate(m, noise)
    return (
        binary_cross_entropy(_judge(m, images), 1.0)
        + binary_cross_entropy(_judge(m, lax.stop_gradient(false)), 0.0)
        + binary_cross_entropy(_judge(fixed, false), 1.0)
    )


def dlrm_top(m: Model, x: Any, rows: list[Any]) -> Any:
    x = jax.nn.relu(m.mlp(x, "bottom", 2))
    return m.mlp(jnp.concatenate([x, *rows], -1), "top", 3)[:, 0]


def dlrm(m: Model, x: Any, rows: Any) -> Any:
    return dlrm_top(m, x, [m.get(f"e{i}")[rows[:, i]] for i in range(TABLES)])


MODELS: dict[str, Callable[..., Any]] = {
    "iris": lambda m, x: m.mlp(x, "w", 4),
    "mlp": lambda m, x: m.mlp(x, "w", 3),
    "cnn": cnn,
    "lstm": lstm,
    "resnet": resnet,
    "mobile": mobile,
    "decoder": decoder,
    "bert": bert,
    "vit": vit,
    "gpt2_layer": lambda m, x: m.pre_norm_layer(x, "l0", GPT2["heads"], causal=True, approximate=True),
    "unet": unet,
    "whisper": whisper,
    "dlrm": dlrm,
}


def cross_entropy(logits: Any, labels: Any) -> Any:
    log = jax.nn.log_softmax(logits.astype(jnp.float32), -1)
    return -jnp.mean(jnp.take_along_axis(log, labels[..., None], -1))


def binary_cross_entropy(logits: Any, labels: Any) -> Any:
    return jnp.mean(jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits))))


def _loss(model: str, m: Model, inputs: tuple[Any, ...]) -> Any:
    if model == "dcgan":
        return dcgan_loss(m, *inputs)
    first = m.cast(inputs[0]) if inputs[0].dtype == jnp.float32 else inputs[0]
    outputs = MODELS[model](m, first, *inputs[1:-1])
    if model in ("lstm", "dlrm"):
        return binary_cross_entropy(outputs, inputs[-1])
    if model == "gpt2_layer":
        return jnp.mean((outputs - inputs[-1]) ** 2)
    return cross_entropy(outputs, inputs[-1])


def _update(optimizer: str, rate: float, p: Tree, g: Tree, slots: list[Tree], step: Any) -> tuple[Tree, list[Tree]]:
    if optimizer == "sgd":
        return {k: p[k] - rate * g[k] for k in p}, slots
    if optimizer == "momentum":
        velocity = {k: 0.9 * slots[0][k] + g[k] for k in p}
        return {k: p[k] - rate * velocity[k] for k in p}, [velocity]
    if optimizer == "adagrad":
        sums = {k: slots[0][k] + g[k] * g[k] for k in p}
        return {k: p[k] - rate * g[k] / (jnp.sqrt(sums[k]) + 1e-10) for k in p}, [sums]
    first = {k: 0.9 * slots[0][k] + 0.1 * g[k] for k in p}
    second = {k: 0.999 * slots[1][k] + 0.001 * g[k] * g[k] for k in p}
    t = step.astype(jnp.float32)
    rate_now, root = rate / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
    decay = 1 - rate * 0.01 if optimizer == "adamw" else 1.0
    new = {k: p[k] * decay - rate_now * first[k] / (jnp.sqrt(second[k]) / root + 1e-8) for k in p}
    return new, [first, second]


def _adagrad_rows(rate: float, state: Tree, x: Any, rows: Any, labels: Any) -> tuple[Tree, Any]:
    """A step that reads and writes the rows of the batch only."""
    p, sums = state["p"], dict(state["slots"][0])
    tables = [f"e{i}" for i in range(TABLES)]
    dense = {k: v for k, v in p.items() if k not in tables}
    embedded = [p[k][rows[:, i]] for i, k in enumerate(tables)]

    def loss_of(dense: Tree, embedded: list[Any]) -> Any:
        return binary_cross_entropy(dlrm_top(Model(dense, {}, False, True), x, embedded), labels)

    loss, (g, of_rows) = jax.value_and_grad(loss_of, (0, 1))(dense, embedded)
    new, (dense_sums,) = _update("adagrad", rate, dense, g, [{k: sums[k] for k in dense}], None)
    sums |= dense_sums
    for i, k in enumerate(tables):
        at, gradient = rows[:, i], of_rows[i]
        sums[k] = sums[k].at[at].add(gradient * gradient)
        new[k] = p[k].at[at].add(-rate * gradient / (jnp.sqrt(sums[k][at]) + 1e-10))
    return {"p": new, "slots": [sums], "t": state["t"] + 1, "stats": state["stats"]}, loss


def make(name: str) -> tuple[Callable[..., Any], Tree, tuple[Any, ...]]:
    """Returns a workload's function, state and batch.

    A training step is function(state, *batch) -> (state, loss), a forward pass function(state, *batch) -> outputs.
    """
    work = WORKLOADS[name]
    values, statistics = parameters(work.model)
    inputs = batch(work.model, work.batch)
    bf16 = work.dtype == "bf16"
    if not work.trains:

        def forward(state: Tree, x: Any) -> Any:
            return MODELS[work.model](Model(state["p"], state["stats"], bf16, False), x)

        return forward, {"p": values, "stats": statistics}, inputs[:1]

    first = FIRST_SLOT.get(work.optimizer or "", 0.0)
    slots = [{k: np.full_like(v, first) for k, v in values.items()} for _ in range(SLOTS[work.optimizer or ""])]
    state = {"p": values, "slots": slots, "t": np.int32(0), "stats": statistics}
    if work.optimizer == "adagrad_rows":
        return lambda state, *inputs: _adagrad_rows(work.rate, state, *inputs), state, inputs

    def step(state: Tree, *inputs: Any) -> tuple[Tree, Any]:
        def loss_of(p: Tree) -> Any:
            m = Model(p, state["stats"], bf16, True)
            loss = _loss(work.model, m, inputs)
            return loss, m.statistics if work.model in NORMALISED else state["stats"]

        (loss, stats), g = jax.value_and_grad(loss_of, has_aux=True)(state["p"])
        t = state["t"] + 1
        p, new_slots = _update(work.optimizer or "", work.rate, state["p"], g, state["slots"], t)
        return {"p": p, "slots": new_slots, "t": t, "stats": stats}, loss

    return step, state, inputs
