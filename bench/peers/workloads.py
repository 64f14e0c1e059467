"""The programs that bench/peers measures: shapes, parameters and batches, in NumPy alone.

Every system builds the same model from the same numbers. Parameters have the layouts of JAX and TensorFlow: kernels of
convolutions are [height, width, in, out], images are channels last.
"""

from __future__ import annotations

import dataclasses
import itertools
import zlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Workload:
    """A training step, or without an optimizer a forward pass."""

    text: str
    model: str
    batch: int
    optimizer: str | None = None
    rate: float = 0.0
    dtype: str = "f32"  # of the computation; parameters are f32

    @property
    def trains(self) -> bool:
        return self.optimizer is not None


WORKLOADS = {
    "T1": Workload("iris MLP 4-10-20-10-3", "iris", 1, "adagrad", 0.1),
    "T2": Workload("MLP 784-512-512-10", "mlp", 128, "sgd", 0.1),
    "T2b": Workload("MLP 784-512-512-10", "mlp", 128, "sgd", 0.1, "bf16"),
    "T3": Workload("MNIST CNN", "cnn", 128, "sgd", 0.005),
    "T3b": Workload("MNIST CNN", "cnn", 128, "sgd", 0.005, "bf16"),
    "T4": Workload("IMDB LSTM of 128, 80 steps", "lstm", 32, "adam", 1e-3),
    "T5": Workload("ResNet-50, 224 x 224", "resnet", 8, "momentum", 0.01),
    "T5b": Workload("ResNet-50, 224 x 224", "resnet", 8, "momentum", 0.01, "bf16"),
    "T6": Workload("decoder of 6 layers like SmolLM2's, 256 tokens", "decoder", 4, "adamw", 1e-4),
    "T6b": Workload("decoder of 6 layers like SmolLM2's, 256 tokens", "decoder", 4, "adamw", 1e-4, "bf16"),
    "T7": Workload("BERT of 4 layers, 128 tokens", "bert", 8, "adamw", 1e-5),
    "T8": Workload("MobileNet, 96 x 96", "mobile", 16, "sgd", 0.01),
    "T9": Workload("DLRM, 8 tables of 100,000 x 32, dense gradients", "dlrm", 256, "adagrad", 0.01),
    "T9s": Workload("DLRM, 8 tables of 100,000 x 32, rows only", "dlrm", 256, "adagrad_rows", 0.01),
    "T10": Workload("ViT-tiny, 224 x 224", "vit", 8, "adamw", 1e-4),
    "T11": Workload("a layer of GPT-2 small, 512 tokens", "gpt2_layer", 4, "adamw", 1e-4),
    "T12": Workload("U-Net of 4 levels, 128 x 128", "unet", 4, "adam", 1e-4),
    "T13": Workload("DCGAN, 64 x 64", "dcgan", 16, "adam", 2e-4),
    "I1": Workload("ResNet-50, 224 x 224", "resnet", 1),
    "I1x8": Workload("ResNet-50, 224 x 224", "resnet", 8),
    "I2": Workload("BERT of 4 layers, 128 tokens", "bert", 1),
    "I3": Workload("MLP 784-512-512-10", "mlp", 1),
    "I4": Workload("MNIST CNN", "cnn", 1),
    "I4x32": Workload("MNIST CNN", "cnn", 32),
    "I5": Workload("Whisper-tiny's encoder, 30 s of sound", "whisper", 1),
}

DECODER = {"width": 576, "heads": 9, "groups": 3, "hidden": 1536, "words": 8192, "tokens": 256, "layers": 6}
BERT = {"width": 768, "heads": 12, "hidden": 3072, "words": 30522, "tokens": 128, "layers": 4}
VIT = {"width": 192, "heads": 3, "layers": 12, "patch": 16, "image": 224, "classes": 1000}
GPT2 = {"width": 768, "heads": 12, "tokens": 512}
WHISPER = {"width": 384, "heads": 6, "layers": 4, "mels": 80, "frames": 3000}
# Features, blocks and the stride of the first block.
RESNET = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
MOBILE = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (1024, 2), (1024, 1))
UNET = (32, 64, 128, 256)
# Features of the generator's 4 x 4, 8 x 8, ... images.
DCGAN = (256, 128, 64, 32)
NOISE = 100
TABLES, TABLE_ROWS, TABLE_WIDTH = 8, 100_000, 32
NORMALISED = ("resnet", "mobile")  # by batch statistics, which are part of the state

SLOTS = {"sgd": 0, "momentum": 1, "adagrad": 1, "adagrad_rows": 1, "adam": 2, "adamw": 2}
# What the first slot starts with.
FIRST_SLOT = {"adagrad": 0.1, "adagrad_rows": 0.1}


class Parameters(dict[str, Array]):
    """Parameters by name, with a generator of their values."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = np.random.default_rng(seed)
        self.statistics: dict[str, Array] = {}

    def normal(self, name: str, shape: tuple[int, ...], deviation: float) -> None:
        self[name] = self._random.standard_normal(shape, dtype=np.float32) * np.float32(deviation)

    def kernel(self, name: str, *shape: int, gain: float = 2.0) -> None:
        """Adds a kernel and its bias; gain 2 is He's for ReLU."""
        self.normal(name, shape, float(gain / np.prod(shape[:-1])) ** 0.5)
        self[name + ".b"] = np.zeros(shape[-1], np.float32)

    def scale(self, name: str, features: int) -> None:
        """Adds the scale and offset of a normalisation."""
        self[name + ".g"] = np.ones(features, np.float32)
        self[name + ".b"] = np.zeros(features, np.float32)

    def batch_norm(self, name: str, features: int) -> None:
        self.scale(name, features)
        self.statistics[name + ".m"] = np.zeros(features, np.float32)
        self.statistics[name + ".v"] = np.ones(features, np.float32)

    def layers(self, name: str, *sizes: int) -> None:
        """Adds the dense layers between sizes."""
        for i, (a, b) in enumerate(itertools.pairwise(sizes)):
            self.kernel(f"{name}{i}", a, b)

    def transformer_layer(self, name: str, width: int, hidden: int) -> None:
        for part, a, b in (*((p, width, width) for p in "qkvo"), ("f", width, hidden), ("h", hidden, width)):
            self.normal(name + part, (a, b), 0.02)
            self[name + part + ".b"] = np.zeros(b, np.float32)
        self.scale(name + "n1", width)
        self.scale(name + "n2", width)

    def without_bias(self, name: str) -> None:
        del self[name + ".b"]


def _resnet(p: Parameters) -> None:
    def convolution(name: str, norm: str, *shape: int) -> None:
        p.kernel(name, *shape)
        p.without_bias(name)
        p.batch_norm(norm, shape[-1])

    convolution("c0", "n0", 7, 7, 3, 64)
    before = 64
    for stage, (features, blocks, _) in enumerate(RESNET):
        for block in range(blocks):
            k = f"s{stage}b{block}"
            convolution(k + "c1", k + "n1", 1, 1, before, features)
            convolution(k + "c2", k + "n2", 3, 3, features, features)
            convolution(k + "c3", k + "n3", 1, 1, features, 4 * features)
            p[k + "n3.g"] *= np.float32(0.25)
            if block == 0:
                convolution(k + "cs", k + "ns", 1, 1, before, 4 * features)
            before = 4 * features
    p.kernel("fc", 2048, 1000, gain=1)


def _mobile(p: Parameters) -> None:
    p.kernel("c0", 3, 3, 3, 32)
    p.without_bias("c0")
    p.batch_norm("n0", 32)
    before = 32
    for i, (features, _) in enumerate(MOBILE):
        k = f"b{i}"
        p.normal(k + "d", (3, 3, 1, before), (2 / 9) ** 0.5)
        p.batch_norm(k + "n1", before)
        p.kernel(k + "p", 1, 1, before, features)
        p.without_bias(k + "p")
        p.batch_norm(k + "n2", features)
        before = features
    p.kernel("fc", 1024, 100, gain=1)


def _decoder(p: Parameters) -> None:
    width, hidden = DECODER["width"], DECODER["hidden"]
    shared = width // DECODER["heads"] * DECODER["groups"]
    p.normal("emb", (DECODER["words"], width), 0.02)
    p["nf"] = np.ones(width, np.float32)
    parts = {"q": (width, width), "k": (width, shared), "v": (width, shared), "o": (width, width)}
    parts |= {"g": (width, hidden), "u": (width, hidden), "d": (hidden, width)}
    for i in range(DECODER["layers"]):
        for norm in ("n1", "n2"):
            p[f"l{i}{norm}"] = np.ones(width, np.float32)
        for part, shape in parts.items():
            p.normal(f"l{i}{part}", shape, 0.02)


def _bert(p: Parameters) -> None:
    width = BERT["width"]
    p.normal("emb", (BERT["words"], width), 0.02)
    p.normal("pos", (BERT["tokens"], width), 0.02)
    p.scale("n0", width)
    for i in range(BERT["layers"]):
        p.transformer_layer(f"l{i}", width, BERT["hidden"])
    p.kernel("pool", width, width, gain=1)
    p.kernel("cls", width, 2, gain=1)


def _vit(p: Parameters) -> None:
    width, patch = VIT["width"], VIT["patch"]
    p.kernel("patch", patch, patch, 3, width, gain=1)
    p.normal("cls", (1, 1, width), 0.02)
    p.normal("pos", ((VIT["image"] // patch) ** 2 + 1, width), 0.02)
    for i in range(VIT["layers"]):
        p.transformer_layer(f"l{i}", width, 4 * width)
    p.scale("nf", width)
    p.kernel("fc", width, VIT["classes"], gain=1)


def _whisper(p: Parameters) -> None:
    width = WHISPER["width"]
    p.kernel("c1", 3, WHISPER["mels"], width)
    p.kernel("c2", 3, width, width)
    p.normal("pos", (WHISPER["frames"] // 2, width), 0.02)
    for i in range(WHISPER["layers"]):
        p.transformer_layer(f"l{i}", width, 4 * width)
    p.scale("nf", width)


def _unet(p: Parameters) -> None:
    before = 3
    for i, features in enumerate(UNET):
        p.kernel(f"d{i}a", 3, 3, before, features)
        p.kernel(f"d{i}b", 3, 3, features, features)
        before = features
    for i, features in reversed(list(enumerate(UNET[:-1]))):
        p.kernel(f"u{i}c", 3, 3, before, features)
        p.kernel(f"u{i}a", 3, 3, 2 * features, features)
        p.kernel(f"u{i}b", 3, 3, features, features)
        before = features
    p.kernel("fc", 1, 1, before, 4, gain=1)


def _dcgan(p: Parameters) -> None:
    p.kernel("g0", NOISE, 4 * 4 * DCGAN[0])
    for i, (a, b) in enumerate(zip(DCGAN, (*DCGAN[1:], 3), strict=True)):
        p.kernel(f"g{i + 1}", 4, 4, a, b, gain=2 * 4)  # of 16 taps 4 meet an element
    for i, (a, b) in enumerate(zip((3, *reversed(DCGAN[1:])), reversed(DCGAN), strict=True)):
        p.kernel(f"d{i}", 4, 4, a, b)
    p.kernel("d", 4 * 4 * DCGAN[0], 1, gain=1)


def _cnn(p: Parameters) -> None:
    p.kernel("c1", 5, 5, 1, 32)
    p.kernel("c2", 5, 5, 32, 64)
    p.kernel("d1", 3136, 1024)
    p.kernel("d2", 1024, 10, gain=1)


def _lstm(p: Parameters) -> None:
    p.normal("emb", (20_000, 128), 0.5)
    p.kernel("wx", 128, 512, gain=1)
    p.kernel("wh", 128, 512, gain=1)
    p.kernel("d", 128, 1, gain=1)


def _dlrm(p: Parameters) -> None:
    for i in range(TABLES):
        p.normal(f"e{i}", (TABLE_ROWS, TABLE_WIDTH), 0.05)
    p.layers("bottom", 13, 64, TABLE_WIDTH)
    p.layers("top", TABLE_WIDTH * (TABLES + 1), 256, 128, 1)


_PARAMETERS = {
    "iris": lambda p: p.layers("w", 4, 10, 20, 10, 3),
    "mlp": lambda p: p.layers("w", 784, 512, 512, 10),
    "cnn": _cnn,
    "lstm": _lstm,
    "resnet": _resnet,
    "mobile": _mobile,
    "decoder": _decoder,
    "bert": _bert,
    "dlrm": _dlrm,
    "vit": _vit,
    "gpt2_layer": lambda p: p.transformer_layer("l0", GPT2["width"], 4 * GPT2["width"]),
    "unet": _unet,
    "dcgan": _dcgan,
    "whisper": _whisper,
}


def parameters(model: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """Returns the parameters of a model and the statistics of its batch normalisations."""
    p = Parameters(zlib.crc32(model.encode()))
    _PARAMETERS[model](p)
    return dict(p), p.statistics


def batch(model: str, n: int) -> tuple[Array, ...]:
    """Returns the inputs and the targets of a step. Forward passes take the first array only."""
    random = np.random.default_rng(7)

    def floats(*shape: int) -> Array:
        return random.standard_normal(shape, dtype=np.float32)

    def integers(end: int, *shape: int) -> Array:
        return random.integers(0, end, shape, dtype=np.int32)

    def tokens(words: int, length: int) -> tuple[Array, Array]:
        both = integers(words, n, length + 1)
        return np.ascontiguousarray(both[:, :-1]), np.ascontiguousarray(both[:, 1:])

    def tables() -> tuple[Array, ...]:
        # No row comes twice, so that the forms of Adagrad agree.
        rows = np.stack([random.permutation(TABLE_ROWS)[:n] for _ in range(TABLES)], 1).astype(np.int32)
        return floats(n, 13), rows, integers(2, n).astype(np.float32)

    half = np.float32(0.5)
    shape = (n, GPT2["tokens"], GPT2["width"])
    makers = {
        "iris": lambda: (floats(n, 4), integers(3, n)),
        "mlp": lambda: (np.abs(floats(n, 784)) * half, integers(10, n)),
        "cnn": lambda: (np.abs(floats(n, 28, 28, 1)) * half, integers(10, n)),
        "lstm": lambda: (integers(20_000, n, 80), integers(2, n).astype(np.float32)),
        "resnet": lambda: (floats(n, 224, 224, 3), integers(1000, n)),
        "decoder": lambda: tokens(DECODER["words"], DECODER["tokens"]),
        "bert": lambda: (integers(BERT["words"], n, BERT["tokens"]), integers(2, n)),
        "mobile": lambda: (floats(n, 96, 96, 3), integers(100, n)),
        "dlrm": tables,
        "vit": lambda: (floats(n, VIT["image"], VIT["image"], 3), integers(VIT["classes"], n)),
        "gpt2_layer": lambda: (floats(*shape), floats(*shape)),
        "unet": lambda: (floats(n, 128, 128, 3), integers(4, n, 128, 128)),
        "dcgan": lambda: (floats(n, NOISE), floats(n, 64, 64, 3)),
        "whisper": lambda: (floats(n, WHISPER["frames"], WHISPER["mels"]),),
    }
    return makers[model]()


def rope() -> tuple[Array, Array]:
    """Returns the cosines and sines [tokens, half a head] of the decoder's rotations."""
    half = DECODER["width"] // DECODER["heads"] // 2
    angles = np.outer(np.arange(DECODER["tokens"]), 1 / 10_000 ** (np.arange(half) / half)).astype(np.float32)
    return np.cos(angles), np.sin(angles)
