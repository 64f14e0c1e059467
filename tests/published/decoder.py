"""Decoders as MaxText trains them: the step of one core of many that keep a part of each weight.

A core gathers the weights of a layer when it needs them, and scatters the sums of their gradients (fully sharded data
parallelism). All functions run under the axis "x" of cores.
"""

import dataclasses
import json

import jax
import jax.numpy as jnp
from jax import lax, nn
from jax.ad_checkpoint import checkpoint_name

TYPE = jax.ShapeDtypeStruct
f32, bf16, i32 = jnp.float32, jnp.bfloat16, jnp.int32
# Positions of a block of the attention kernel.
BLOCK = 2048


@dataclasses.dataclass
class Sizes:
    layers: int
    width: int
    heads: int
    kv_heads: int
    inner: int
    words: int
    head: int = 128
    activation: str = "silu"
    gated: bool = True
    tied: bool = False  # embedding and logits have the same weights
    flash: bool = True  # scores stay in the kernel


SIZES = {
    "llama2_70b": Sizes(80, 8192, 64, 8, 28672, 32000),
    "llama3_8b": Sizes(32, 4096, 32, 8, 14336, 128256),
    "llama3_70b": Sizes(80, 8192, 64, 8, 28672, 128256),
    "llama3_405b": Sizes(126, 16384, 128, 8, 53248, 128256),
    "mistral_7b": Sizes(32, 4096, 32, 8, 14336, 32000),
    "gpt3_175b": Sizes(96, 12288, 96, 96, 49152, 50304, activation="gelu", gated=False, tied=True),
    "maxtext_16b": Sizes(36, 6144, 24, 24, 24576, 32768, 256, "relu", False, True, False),
    "maxtext_22b": Sizes(48, 6144, 24, 24, 24576, 32768, 256, "relu", False, True, False),
    "maxtext_32b": Sizes(40, 8192, 32, 32, 32768, 32768, 256, "relu", False, True, False),
    "maxtext_52b": Sizes(32, 12288, 32, 32, 49152, 32768, 256, "relu", False, True, False),
    "maxtext_64b": Sizes(64, 10240, 32, 32, 32768, 32768, 256, "relu", False, True, False),
}


def gathered(w, axis):
    return lax.all_gather(w.astype(bf16), "x", axis=axis, tiled=True)


def kernel(results, products, length, q, transcendentals, *operands):
    """The call of a kernel that computes `products` of queries and keys, or of weights and values, in causal blocks."""
    batch, heads, _, head = q.shape
    blocks = -(-length // BLOCK)
    # Of all pairs of blocks those that are not masked.
    pairs = length * length * (blocks + 1) / (2 * blocks)
    estimate = dict(
        flops=int(products * 2 * batch * heads * pairs * head),
        transcendentals=int(transcendentals * batch * heads * pairs),
        bytes_accessed=0,
    )
    config = json.dumps(dict(custom_call_config=dict(cost_estimate=estimate)))
    call = jax.ffi.ffi_call("tpu_custom_call", results, custom_call_api_version=1, legacy_backend_config=config)
    return call(*operands)


@jax.custom_vjp
def flash_attention(q, k, v):
    return forward_attention(q, k, v)[0]


def forward_attention(q, k, v):
    batch, heads, length, _ = q.shape
    sums = TYPE((batch, heads, length), f32)
    out, sums = kernel([TYPE(q.shape, q.dtype), sums], 2, length, q, 1, q, k, v)
    out = checkpoint_name(out, "context")
    return out, (q, k, v, out, checkpoint_name(sums, "context"))


def backward_attention(saved, gradient):
    q, k, v, out, sums = saved
    results = [TYPE(a.shape, a.dtype) for a in (q, k, v)]
    return tuple(kernel(results, 5, q.shape[2], q, 1, q, k, v, out, sums, gradient))


flash_attention.defvjp(forward_attention, backward_attention)


def plain_attention(q, k, v):
    length = q.shape[2]
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k)
    place = jnp.arange(length)
    scores = jnp.where(place[:, None] >= place, scores, jnp.asarray(-1e9, scores.dtype))
    return jnp.einsum("bhqk,bhkd->bhqd", nn.softmax(scores, -1), v)


def rms(x, scale):
    f = x.astype(f32)
    return (f * lax.rsqrt(jnp.mean(f * f, -1, keepdims=True) + 1e-5) * scale).astype(bf16)


def turned(x):
    """Rotary positions of [batch, heads, length, head]."""
    length, head = x.shape[2:]
    angles = jnp.arange(length, dtype=f32)[:, None] * 1e4 ** (-jnp.arange(0, head, 2, dtype=f32) / head)
    sin, cos = jnp.sin(angles).astype(bf16), jnp.cos(angles).astype(bf16)
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def layer(h, w, s):
    batch, length, _ = h.shape

    def projected(x, name, heads):
        y = checkpoint_name(x @ gathered(w[name], 0), {"q": "query_proj", "k": "key_proj", "v": "value_proj"}[name])
        return y.reshape(batch, length, heads, s.head).swapaxes(1, 2)

    h = checkpoint_name(h, "decoder_layer_input")
    x = rms(h, w["a"])
    q = turned(projected(x, "q", s.heads)) * jnp.asarray(s.head**-0.5, bf16)
    k, v = turned(projected(x, "k", s.kv_heads)), projected(x, "v", s.kv_heads)
    context = (flash_attention if s.flash else plain_attention)(q, k, v)
    context = context.swapaxes(1, 2).reshape(batch, length, s.heads * s.head)
    h = h + checkpoint_name(context @ gathered(w["o"], 1), "out_proj")
    x = rms(h, w["b"])
    y = getattr(nn, s.activation)(checkpoint_name(x @ gathered(w["w0"], 0), "mlpwi"))
    if s.gated:
        y = y * checkpoint_name(x @ gathered(w["w1"], 0), "mlpwi")
    return h + checkpoint_name(y @ gathered(w["w2"], 1), "mlpwo")


def cross_entropy(logits, labels):
    logits = logits.astype(f32)
    logits = logits - lax.stop_gradient(jnp.max(logits, -1, keepdims=True))
    normalizer = jnp.log(jnp.sum(jnp.exp(logits), -1))
    return jnp.mean(normalizer - jnp.sum(logits * nn.one_hot(labels, logits.shape[-1]), -1))


def weights(s, cores):
    part, across = s.width // cores, s.heads * s.head
    kv = s.kv_heads * s.head
    sizes = dict(
        a=(s.width,),
        b=(s.width,),
        q=(part, across),
        k=(part, kv),
        v=(part, kv),
        o=(across, part),
        w0=(part, s.inner),
        w2=(s.inner, part),
    )
    if s.gated:
        sizes["w1"] = (part, s.inner)
    p = {f"l_{name}": (s.layers, *shape) for name, shape in sizes.items()}
    p |= dict(tok=(s.words, part), norm=(s.width,))
    return p if s.tied else p | dict(out=(part, s.words))


def decoder(name, cores, batch, length, saved=(), iota=True, dtype=f32):
    """(step, state, batch): what a core computes. `saved`: names of values that are not computed again backward."""
    s = SIZES[name]
    policy = jax.checkpoint_policies.save_only_these_names(*saved)
    run = jax.checkpoint(lambda h, w: (layer(h, w, s), None), policy=policy)

    def loss(p, x, y):
        table = gathered(p["tok"], 1)
        h = nn.one_hot(x, s.words, dtype=bf16) @ table if iota else table[x]
        h = lax.scan(run, h, {name[2:]: w for name, w in p.items() if name.startswith("l_")})[0]
        logits = rms(h, p["norm"]) @ (table.T if s.tied else gathered(p["out"], 0))
        return cross_entropy(logits, y)

    def step(state, x, y):
        p, first, second, t = state
        gradient = jax.grad(loss)(p, x, y)
        shared = [name for name in p if name in ("l_a", "l_b", "norm")]
        gradient |= {name: lax.psum(gradient[name], "x") for name in shared}
        t = t + 1
        tree_map = jax.tree_util.tree_map
        first = tree_map(lambda a, g: (0.9 * a + 0.1 * g).astype(dtype), first, gradient)
        second = tree_map(lambda a, g: (0.95 * a + 0.05 * g * g).astype(dtype), second, gradient)
        rate = 3e-5 * jnp.sqrt(1 - 0.95**t) / (1 - 0.9**t)
        p = tree_map(lambda p, a, b: (p - rate * (a / (jnp.sqrt(b) + 1e-8) + 0.1 * p)).astype(dtype), p, first, second)
        return p, first, second, t

    variables = {name: TYPE(shape, dtype) for name, shape in weights(s, cores).items()}
    tokens = TYPE((batch, length), i32)
    return step, (variables, variables, variables, TYPE((), f32)), (tokens, tokens)
