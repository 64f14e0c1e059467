"""The workloads in PyTorch: channels last, fused optimizers, scaled_dot_product_attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from workloads import (
    BERT,
    DCGAN,
    DECODER,
    FIRST_SLOT,
    GPT2,
    MOBILE,
    RESNET,
    TABLES,
    UNET,
    VIT,
    WHISPER,
    WORKLOADS,
    batch,
    parameters,
    rope,
)

Tensor = torch.Tensor


def _tensor(x: Any) -> Tensor:
    t = torch.from_numpy(np.array(x))
    return t.long() if t.dtype == torch.int32 else t


def _image(x: Any) -> Tensor:
    """Converts [n, height, width, features] to torch's order, in memory as before."""
    return _tensor(x).permute(0, 3, 1, 2)


def _parameter(name: str, x: Any, model: str) -> Tensor:
    if x.ndim == 4 and model == "dcgan" and name.startswith("g"):
        # torch's transposed convolution turns the kernel around, and its inputs come first.
        return _tensor(np.ascontiguousarray(x[::-1, ::-1].transpose(2, 3, 0, 1)))
    if x.ndim == 4:
        return _tensor(x.transpose(3, 2, 0, 1)).contiguous(memory_format=torch.channels_last)
    if x.ndim == 3 and model == "whisper":
        return _tensor(np.ascontiguousarray(x.transpose(2, 1, 0)))
    if name in ("wx", "wh") and model == "lstm":  # torch keeps the transposed matrices of an LSTM
        return _tensor(np.ascontiguousarray(x.T))
    return _tensor(x)


class Model:
    """Parameters in the type of the computation, and layers that read them by name."""

    def __init__(self, values: dict[str, Tensor], statistics: dict[str, Tensor], bf16: bool, trains: bool) -> None:
        self.values = values
        self.statistics = statistics
        self._bf16 = bf16
        self.trains = trains

    def cast(self, x: Tensor) -> Tensor:
        return x.to(torch.bfloat16) if self._bf16 else x

    def get(self, name: str) -> Tensor:
        return self.cast(self.values[name])

    def dense(self, x: Tensor, name: str) -> Tensor:
        flat = torch.addmm(self.get(name + ".b"), x.reshape(-1, x.shape[-1]), self.get(name))
        return flat.view(*x.shape[:-1], -1)

    def mlp(self, x: Tensor, name: str, layers: int) -> Tensor:
        for i in range(layers):
            x = self.dense(x, f"{name}{i}")
            x = F.relu(x) if i + 1 < layers else x
        return x

    def conv(self, x: Tensor, name: str, stride: int = 1, padding: int = 0, groups: int = 1) -> Tensor:
        return F.conv2d(x, self.get(name), None, stride, padding, 1, groups)

    def conv_bias(self, x: Tensor, name: str, stride: int = 1, padding: int = 0) -> Tensor:
        return F.conv2d(x, self.get(name), self.get(name + ".b"), stride, padding)

    def batch_norm(self, x: Tensor, name: str) -> Tensor:
        mean, variance = self.statistics[name + ".m"], self.statistics[name + ".v"]
        return F.batch_norm(x, mean, variance, self.values[name + ".g"], self.values[name + ".b"], self.trains)

    def layer_norm(self, x: Tensor, name: str, epsilon: float = 1e-5) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],), self.get(name + ".g"), self.get(name + ".b"), epsilon)

    def attention(self, x: Tensor, name: str, heads: int, causal: bool = False) -> Tensor:
        n, s, width = x.shape
        q, k, v = (self.dense(x, name + part).view(n, s, heads, -1).transpose(1, 2) for part in "qkv")
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.dense(mixed.transpose(1, 2).reshape(n, s, width), name + "o")

    def pre_norm_layer(self, x: Tensor, name: str, heads: int, causal: bool = False, gelu: str = "none") -> Tensor:
        x = x + self.attention(self.layer_norm(x, name + "n1"), name, heads, causal)
        hidden = self.dense(self.layer_norm(x, name + "n2"), name + "f")
        return x + self.dense(F.gelu(hidden, approximate=gelu), name + "h")


def cnn(m: Model, x: Tensor) -> Tensor:
    for name in ("c1", "c2"):
        x = F.max_pool2d(F.relu(m.conv_bias(x, name, 1, 2)), 2)
    x = x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)
    return m.dense(F.relu(m.dense(x, "d1")), "d2")


# As torch.compile treats nn.LSTM.
_lstm = torch.compiler.disable(torch._VF.lstm)


def lstm(m: Model, tokens: Tensor) -> Tensor:
    x = F.embedding(tokens, m.get("emb"))
    zero = x.new_zeros(1, x.shape[0], 128)
    weights = [m.get("wx"), m.get("wh"), m.get("wx.b"), m.get("wh.b")]
    _, h, _ = _lstm(x, (zero, zero), weights, True, 1, 0.0, m.trains, False, True)
    return m.dense(h[0], "d")[:, 0]


def resnet(m: Model, x: Tensor) -> Tensor:
    x = F.max_pool2d(F.relu(m.batch_norm(m.conv(x, "c0", 2, 3), "n0")), 3, 2, 1)
    for stage, (_, blocks, first) in enumerate(RESNET):
        for block in range(blocks):
            k, stride = f"s{stage}b{block}", first if block == 0 else 1
            y = F.relu(m.batch_norm(m.conv(x, k + "c1"), k + "n1"))
            y = F.relu(m.batch_norm(m.conv(y, k + "c2", stride, 1), k + "n2"))
            y = m.batch_norm(m.conv(y, k + "c3"), k + "n3")
            if block == 0:
                x = m.batch_norm(m.conv(x, k + "cs", stride), k + "ns")
            x = F.relu(y + x)
    return m.dense(x.mean((2, 3)), "fc")


def mobile(m: Model, x: Tensor) -> Tensor:
    x = F.relu6(m.batch_norm(m.conv(x, "c0", 2, 1), "n0"))
    for i, (_, stride) in enumerate(MOBILE):
        x = F.relu6(m.batch_norm(m.conv(x, f"b{i}d", stride, 1, x.shape[1]), f"b{i}n1"))
        x = F.relu6(m.batch_norm(m.conv(x, f"b{i}p"), f"b{i}n2"))
    return m.dense(x.mean((2, 3)), "fc")


_COSINES, _SINES = (torch.from_numpy(t) for t in rope())


def decoder(m: Model, tokens: Tensor) -> Tensor:
    x = F.embedding(tokens, m.get("emb"))
    n, s, width = x.shape
    half = width // DECODER["heads"] // 2
    cosines, sines = _COSINES.to(x.dtype), _SINES.to(x.dtype)

    def norm(x: Tensor, name: str) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-5) * m.values[name]).to(x.dtype)

    def rotate(x: Tensor) -> Tensor:
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cosines - b * sines, b * cosines + a * sines], -1)

    for i in range(DECODER["layers"]):
        k = f"l{i}"
        h = norm(x, k + "n1")
        parts = (("q", DECODER["heads"]), ("k", DECODER["groups"]), ("v", DECODER["groups"]))
        query, key, value = ((h @ m.get(k + p)).view(n, s, heads, -1).transpose(1, 2) for p, heads in parts)
        mixed = F.scaled_dot_product_attention(rotate(query), rotate(key), value, is_causal=True, enable_gqa=True)
        x = x + mixed.transpose(1, 2).reshape(n, s, width) @ m.get(k + "o")
        h = norm(x, k + "n2")
        x = x + (F.silu(h @ m.get(k + "g")) * (h @ m.get(k + "u"))) @ m.get(k + "d")
    return norm(x, "nf") @ m.get("emb").T


def bert(m: Model, tokens: Tensor) -> Tensor:
    x = m.layer_norm(F.embedding(tokens, m.get("emb")) + m.get("pos"), "n0", 1e-12)
    for i in range(BERT["layers"]):
        k = f"l{i}"
        x = m.layer_norm(x + m.attention(x, k, BERT["heads"]), k + "n1", 1e-12)
        x = m.layer_norm(x + m.dense(F.gelu(m.dense(x, k + "f")), k + "h"), k + "n2", 1e-12)
    return m.dense(torch.tanh(m.dense(x[:, 0], "pool")), "cls")


def vit(m: Model, images: Tensor) -> Tensor:
    x = m.conv_bias(images, "patch", VIT["patch"]).flatten(2).transpose(1, 2)
    x = torch.cat([m.get("cls").expand(x.shape[0], 1, VIT["width"]), x], 1) + m.get("pos")
    for i in range(VIT["layers"]):
        x = m.pre_norm_layer(x, f"l{i}", VIT["heads"])
    return m.dense(m.layer_norm(x, "nf")[:, 0], "fc")


def whisper(m: Model, sound: Tensor) -> Tensor:
    x = F.gelu(F.conv1d(sound.transpose(1, 2), m.get("c1"), m.get("c1.b"), padding=1))
    x = F.gelu(F.conv1d(x, m.get("c2"), m.get("c2.b"), stride=2, padding=1)).transpose(1, 2) + m.get("pos")
    for i in range(WHISPER["layers"]):
        x = m.pre_norm_layer(x, f"l{i}", WHISPER["heads"])
    return m.layer_norm(x, "nf")


def unet(m: Model, x: Tensor) -> Tensor:
    def both(x: Tensor, name: str) -> Tensor:
        return F.relu(m.conv_bias(F.relu(m.conv_bias(x, name + "a", 1, 1)), name + "b", 1, 1))

    skipped = []
    for i in range(len(UNET)):
        x = both(x, f"d{i}")
        if i + 1 < len(UNET):
            skipped.append(x)
            x = F.max_pool2d(x, 2)
    for i in reversed(range(len(UNET) - 1)):
        x = F.relu(m.conv_bias(F.interpolate(x, scale_factor=2), f"u{i}c", 1, 1))
        x = both(torch.cat([skipped[i], x], 1), f"u{i}")
    return m.conv_bias(x, "fc").permute(0, 2, 3, 1)


def _generate(m: Model, noise: Tensor) -> Tensor:
    x = F.relu(m.dense(noise, "g0")).view(-1, 4, 4, DCGAN[0]).permute(0, 3, 1, 2)
    for i in range(1, len(DCGAN) + 1):
        x = F.conv_transpose2d(x, m.get(f"g{i}"), m.get(f"g{i}.b"), stride=2, padding=1)
        x = F.relu(x) if i < len(DCGAN) else torch.tanh(x)
    return x


def _judge(m: Model, x: Tensor) -> Tensor:
    for i in range(len(DCGAN)):
        x = F.leaky_relu(m.conv_bias(x, f"d{i}", 2, 1), 0.2)
    return m.dense(x.permute(0, 2, 3, 1).reshape(x.shape[0], -1), "d")[:, 0]


def dcgan_loss(m: Model, noise: Tensor, images: Tensor) -> Tensor:
    """The sum of both losses: neither's gradient reaches the other network."""
    fixed = Model({k: v.detach() for k, v in m.values.items()}, {}, False, True)
    false = _generate(m, noise)
    ones, zeros = noise.new_ones(noise.shape[0]), noise.new_zeros(noise.shape[0])
    loss = F.binary_cross_entropy_with_logits
    return loss(_judge(m, images), ones) + loss(_judge(m, false.detach()), zeros) + loss(_judge(fixed, false), ones)


def dlrm(m: Model, x: Tensor, rows: Tensor, sparse: bool = False) -> Tensor:
    x = F.relu(m.mlp(x, "bottom", 2))
    embedded = [F.embedding(rows[:, i], m.get(f"e{i}"), sparse=sparse) for i in range(TABLES)]
    return m.mlp(torch.cat([x, *embedded], -1), "top", 3)[:, 0]


MODELS: dict[str, Callable[..., Tensor]] = {
    "iris": lambda m, x: m.mlp(x, "w", 4),
    "mlp": lambda m, x: m.mlp(x, "w", 3),
    "cnn": cnn,
    "lstm": lstm,
    "resnet": resnet,
    "mobile": mobile,
    "decoder": decoder,
    "bert": bert,
    "vit": vit,
    "gpt2_layer": lambda m, x: m.pre_norm_layer(x, "l0", GPT2["heads"], causal=True, gelu="tanh"),
    "unet": unet,
    "whisper": whisper,
    "dlrm": dlrm,
}


def _loss(model: str, sparse: bool, m: Model, inputs: list[Tensor]) -> Tensor:
    if model == "dcgan":
        return dcgan_loss(m, *inputs)
    first = m.cast(inputs[0]) if inputs[0].is_floating_point() else inputs[0]
    if model == "dlrm":
        return F.binary_cross_entropy_with_logits(dlrm(m, first, inputs[1], sparse), inputs[2])
    outputs = MODELS[model](m, first)
    if model == "lstm":
        return F.binary_cross_entropy_with_logits(outputs, inputs[-1])
    if model == "gpt2_layer":
        return F.mse_loss(outputs, inputs[-1])
    return F.cross_entropy(outputs.float().reshape(-1, outputs.shape[-1]), inputs[-1].reshape(-1))


def _optimizers(name: str, rate: float, values: dict[str, Tensor]) -> list[torch.optim.Optimizer]:
    optim, every = torch.optim, list(values.values())
    start = FIRST_SLOT.get(name, 0.0)
    if name == "adagrad_rows":
        tables = [values[f"e{i}"] for i in range(TABLES)]
        dense = [v for k, v in values.items() if k not in {f"e{i}" for i in range(TABLES)}]
        return [
            optim.Adagrad(tables, rate, initial_accumulator_value=start),
            optim.Adagrad(dense, rate, initial_accumulator_value=start, fused=True),
        ]
    makers: dict[str, Callable[[], torch.optim.Optimizer]] = {
        "sgd": lambda: optim.SGD(every, rate, fused=True),
        "momentum": lambda: optim.SGD(every, rate, momentum=0.9, fused=True),
        "adagrad": lambda: optim.Adagrad(every, rate, initial_accumulator_value=start, fused=True),
        "adam": lambda: optim.Adam(every, rate, fused=True),
        "adamw": lambda: optim.AdamW(every, rate, weight_decay=0.01, fused=True),
    }
    return [makers[name]()]


class Step:
    """A workload in torch; calling it makes a step and returns the loss, or the outputs of a forward pass."""

    def __init__(self, name: str, compiled: bool) -> None:
        work = WORKLOADS[name]
        values, statistics = parameters(work.model)
        self.values = {k: _parameter(k, v, work.model).requires_grad_(work.trains) for k, v in values.items()}
        numbers = {k: _tensor(v) for k, v in statistics.items()}
        self.model = Model(self.values, numbers, work.dtype == "bf16", work.trains)
        arrays = batch(work.model, work.batch)
        self.inputs = [_image(x) if x.ndim == 4 else _tensor(x) for x in (arrays if work.trains else arrays[:1])]
        self._optimizers = _optimizers(work.optimizer, work.rate, self.values) if work.optimizer else []

        def function(*inputs: Tensor) -> Tensor:
            if work.trains:
                return _loss(work.model, work.optimizer == "adagrad_rows", self.model, list(inputs))
            return MODELS[work.model](self.model, *inputs)

        self._function = torch.compile(function, dynamic=False) if compiled else function

    def __call__(self) -> Tensor:
        if not self._optimizers:
            with torch.no_grad():
                return self._function(*self.inputs)
        loss = self._function(*self.inputs)
        for optimizer in self._optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in self._optimizers:
            optimizer.step()
        return loss


def export_onnx(name: str, path: str) -> None:
    """Writes a forward pass as an ONNX file with the input x."""
    step = Step(name, compiled=False)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for key, value in step.values.items():
                self.register_buffer(key.replace(".", "_"), value)

        def forward(self, x: Tensor) -> Tensor:
            values = {key: getattr(self, key.replace(".", "_")) for key in step.values}
            return MODELS[WORKLOADS[name].model](Model(values, step.model.statistics, False, False), x)

    inputs = [x.int() if x.dtype == torch.int64 else x for x in step.inputs]
    torch.onnx.export(
        Module().eval(), tuple(inputs), path, dynamo=False, opset_version=17, input_names=["x"], output_names=["y"]
    )
