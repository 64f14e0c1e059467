"""Models of the training steps that libtpu compiles for the calibration: a model is (init, loss, types of a batch)."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

TYPE = jax.ShapeDtypeStruct
f32, bf16, i32 = jnp.float32, jnp.bfloat16, jnp.int32
z = jnp.zeros


def to(dtype, tree):
    return jax.tree_util.tree_map(lambda a: a.astype(dtype), tree)


def cross_entropy(logits, labels):
    logits = logits.astype(f32)
    chosen = jnp.take_along_axis(logits, labels[:, None], -1)[:, 0]
    return jnp.mean(nn.logsumexp(logits, -1) - chosen)


def labelled(batch, shape, dtype):
    return TYPE((batch, *shape), dtype), TYPE((batch,), i32)


def pair(n):
    """Scale and offset of a normalization."""
    return z(n), z(n)


def affine(a, b):
    return z((a, b)), z((b,))


def linear(x, p):
    return x @ p[0].astype(x.dtype) + p[1].astype(x.dtype)


def mlp(layers, width, batch, dtype=f32, classes=1000, inputs=None):
    sizes = [inputs or width] + [width] * layers + [classes]

    def init():
        return [affine(a, b) for a, b in itertools.pairwise(sizes)]

    def loss(p, x, y):
        for layer in p[:-1]:
            x = nn.relu(linear(x, layer))
        return cross_entropy(linear(x, p[-1]), y)

    return init, loss, labelled(batch, (sizes[0],), dtype)


def autoencoder(batch, dtype=f32):
    sizes = [784, 1024, 256, 64, 256, 1024, 784]

    def init():
        return [affine(a, b) for a, b in itertools.pairwise(sizes)]

    def loss(p, x):
        h = x
        for layer in p[:-1]:
            h = jnp.tanh(linear(h, layer))
        return jnp.mean((nn.sigmoid(linear(h, p[-1])) - x) ** 2)

    return init, loss, (TYPE((batch, 784), dtype),)


def conv(x, w, stride=1, groups=1):
    return lax.conv_general_dilated(
        x,
        w.astype(x.dtype),
        (stride, stride),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def max_pool(x, size=2, stride=2):
    lowest = np.array(-np.inf, x.dtype)
    return lax.reduce_window(x, lowest, lax.max, (1, size, size, 1), (1, stride, stride, 1), "SAME")


def mnist(batch, dtype=f32):
    def init():
        return dict(
            c1=z((5, 5, 1, 32)),
            b1=z(32),
            c2=z((5, 5, 32, 64)),
            b2=z(64),
            d1=affine(3136, 1024),
            d2=affine(1024, 10),
        )

    def loss(p, x, y):
        p = to(dtype, p)
        h = max_pool(nn.relu(conv(x, p["c1"]) + p["b1"]))
        h = max_pool(nn.relu(conv(h, p["c2"]) + p["b2"]))
        h = nn.relu(linear(h.reshape(h.shape[0], -1), p["d1"]))
        return cross_entropy(linear(h, p["d2"]), y)

    return init, loss, labelled(batch, (28, 28, 1), dtype)


def vgg(batch, dtype=f32):
    features = [64, 64, 128, 128, 256, 256]

    def init():
        p = {f"c{i}": (z((3, 3, a, b)), z(b)) for i, (a, b) in enumerate(itertools.pairwise([3, *features]))}
        return p | dict(d1=affine(4096, 512), d2=affine(512, 10))

    def loss(p, x, y):
        for i in range(len(features)):
            w, b = p[f"c{i}"]
            x = nn.relu(conv(x, w) + b.astype(x.dtype))
            x = max_pool(x) if i % 2 == 1 else x
        h = nn.relu(linear(x.reshape(x.shape[0], -1), p["d1"]))
        return cross_entropy(linear(h, p["d2"]), y)

    return init, loss, labelled(batch, (32, 32, 3), dtype)


def normalized(y, p, dtype):
    scale, offset = p
    f = y.astype(f32)
    mean = jnp.mean(f, (0, 1, 2))
    variance = jnp.mean(f * f, (0, 1, 2)) - mean * mean
    s = scale * lax.rsqrt(variance + 1e-5)
    return (f * s + (offset - mean * s)).astype(dtype)


def resnet50(batch, dtype=bf16, image=224, remat=False, blocks=((3, 64), (4, 128), (6, 256), (3, 512))):
    def init():
        p = dict(stem=(z((7, 7, 3, 64)), pair(64)))
        features = 64
        for s, (n, c) in enumerate(blocks):
            for i in range(n):
                b = dict(
                    a=(z((1, 1, features, c)), pair(c)),
                    b=(z((3, 3, c, c)), pair(c)),
                    c=(z((1, 1, c, 4 * c)), pair(4 * c)),
                )
                if i == 0:
                    b["s"] = (z((1, 1, features, 4 * c)), pair(4 * c))
                p[f"{s}_{i}"] = b
                features = 4 * c
        p["fc"] = affine(features, 1000)
        return p

    def unit(x, p, stride=1, relu=True):
        y = normalized(conv(x, p[0], stride), p[1], dtype)
        return nn.relu(y) if relu else y

    def block(x, p, stride):
        h = unit(unit(x, p["a"]), p["b"], stride)
        h = unit(h, p["c"], relu=False)
        if "s" in p:
            x = unit(x, p["s"], stride, relu=False)
        return nn.relu(h + x)

    def loss(p, x, y):
        h = max_pool(unit(x, p["stem"], 2), 3)
        run = jax.checkpoint(block, static_argnums=2) if remat else block
        for s, (n, _) in enumerate(blocks):
            for i in range(n):
                h = run(h, p[f"{s}_{i}"], 2 if i == 0 and s > 0 else 1)
        h = jnp.mean(h.astype(f32), (1, 2))
        decay = sum(jnp.sum(v * v) for v in jax.tree_util.tree_leaves(p))
        return cross_entropy(linear(h, p["fc"]), y) + 1e-4 * decay

    return init, loss, labelled(batch, (image, image, 3), dtype)


def mobilenet(batch, dtype=bf16):
    layers = [(1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512), (1, 512), (2, 1024)]

    def init():
        p = dict(stem=(z((3, 3, 3, 32)), (z(32), z(32))))
        features = 32
        for i, (_, c) in enumerate(layers):
            p[f"d{i}"] = (z((3, 3, 1, features)), (z(features), z(features)))
            p[f"p{i}"] = (z((1, 1, features, c)), (z(c), z(c)))
            features = c
        p["fc"] = affine(features, 1000)
        return p

    def unit(x, p, stride=1, groups=1):
        return nn.relu(normalized(conv(x, p[0], stride, groups), p[1], dtype))

    def loss(p, x, y):
        h = unit(x, p["stem"], 2)
        for i, (stride, _) in enumerate(layers):
            h = unit(unit(h, p[f"d{i}"], stride, h.shape[-1]), p[f"p{i}"])
        return cross_entropy(linear(jnp.mean(h.astype(f32), (1, 2)), p["fc"]), y)

    return init, loss, labelled(batch, (224, 224, 3), dtype)


def unet(batch, size=128, dtype=f32):
    features = [32, 64, 128, 256]

    def init():
        p = {}
        last = 3
        for i, c in enumerate(features):
            p[f"down{i}"] = (z((3, 3, last, c)), z(c))
            last = c
        for i in reversed(range(len(features) - 1)):
            c = features[i]
            p[f"up{i}"] = (z((3, 3, last + c, c)), z(c))
            last = c
        return p | dict(out=(z((1, 1, last, 1)), z(1)))

    def unit(x, p):
        return nn.relu(conv(x, p[0]) + p[1].astype(x.dtype))

    def loss(p, x, y):
        skipped = []
        h = x
        for i in range(len(features)):
            h = unit(h, p[f"down{i}"])
            skipped.append(h)
            h = max_pool(h) if i + 1 < len(features) else h
        for i in reversed(range(len(features) - 1)):
            h = jnp.repeat(jnp.repeat(h, 2, 1), 2, 2)
            h = unit(jnp.concatenate([h, skipped[i]], -1), p[f"up{i}"])
        logits = (conv(h, p["out"][0]) + p["out"][1].astype(h.dtype)).astype(f32)
        return jnp.mean(nn.softplus(logits) - logits * y)

    return init, loss, (TYPE((batch, size, size, 3), dtype), TYPE((batch, size, size, 1), f32))


def lstm(batch, steps, words, width, units, classes=2, sequence=False, dtype=f32, layers=1):
    def init():
        p = dict(e=z((words, width)), o=affine(units, classes))
        for i in range(layers):
            inputs = width if i == 0 else units
            p[f"l{i}"] = (z((inputs, 4 * units)), z((units, 4 * units)), z(4 * units))
        return p

    def layer(p, x):
        wx, wh, b = to(dtype, p)
        gates = jnp.einsum("tbi,ij->tbj", x, wx) + b

        def cell(carried, gate):
            h, s = carried
            i, f, g, o = jnp.split(gate + h @ wh, 4, -1)
            s = nn.sigmoid(f) * s + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(s)
            return (h, s), h

        zero = z((batch, units), dtype)
        return lax.scan(cell, (zero, zero), gates)[1]

    def loss(p, x, y):
        h = p["e"].astype(dtype)[x.T]
        for i in range(layers):
            h = layer(p[f"l{i}"], h)
        if sequence:
            return cross_entropy(linear(h, p["o"]).reshape(-1, classes), y.T.reshape(-1))
        return cross_entropy(linear(h[-1], p["o"]), y)

    labels = (batch, steps) if sequence else (batch,)
    return init, loss, (TYPE((batch, steps), i32), TYPE(labels, i32))


def gru(batch, steps, inputs, units, dtype=f32):
    def init():
        return dict(x=affine(inputs, 3 * units), h=affine(units, 3 * units), o=affine(units, 10))

    def loss(p, x, y):
        gates = linear(x, p["x"])

        def cell(h, gate):
            r, u, n = jnp.split(gate, 3, -1)
            hr, hu, hn = jnp.split(linear(h, p["h"]), 3, -1)
            u = nn.sigmoid(u + hu)
            h = u * h + (1 - u) * jnp.tanh(n + nn.sigmoid(r + hr) * hn)
            return h, None

        h = lax.scan(cell, z((batch, units), dtype), gates)[0]
        return cross_entropy(linear(h, p["o"]), y)

    return init, loss, (TYPE((steps, batch, inputs), dtype), TYPE((batch,), i32))


def layer_norm(x, p, dtype):
    f = x.astype(f32)
    mean = f.mean(-1, keepdims=True)
    variance = ((f - mean) ** 2).mean(-1, keepdims=True)
    return ((f - mean) * lax.rsqrt(variance + 1e-12) * p[0] + p[1]).astype(dtype)


def attention(h, w, heads, causal, dtype):
    batch, length, width = h.shape
    split = (batch, length, heads, width // heads)
    q, k, v = (linear(h, w[name]).reshape(split) for name in "qkv")
    scores = (jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5).astype(f32)
    if causal:
        place = jnp.arange(length)
        scores = jnp.where(place[:, None] >= place, scores, -1e9)
    weights = nn.softmax(scores, -1).astype(dtype)
    return linear(jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(h.shape), w["o"])


def transformer_layer(width, inner):
    p = {name: affine(width, width) for name in "qkvo"}
    return p | dict(a=pair(width), f=affine(width, inner), g=affine(inner, width), b=pair(width))


def bert(batch, length=128, dtype=bf16, layers=12, width=768, heads=12, words=30522):
    masked = max(length * 15 // 100, 1)

    def init():
        p = dict(tok=z((words, width)), pos=z((512, width)), ln=pair(width), ob=z(words))
        return p | {f"l{i:02d}": transformer_layer(width, 4 * width) for i in range(layers)}

    def loss(p, x, y):
        h = layer_norm(p["tok"].astype(dtype)[x] + p["pos"].astype(dtype)[:length], p["ln"], dtype)
        for i in range(layers):
            w = p[f"l{i:02d}"]
            h = layer_norm(h + attention(h, w, heads, False, dtype), w["a"], dtype)
            h = layer_norm(h + linear(nn.gelu(linear(h, w["f"])), w["g"]), w["b"], dtype)
        h = h[:, :masked].reshape(-1, width)
        return cross_entropy(h @ p["tok"].astype(dtype).T + p["ob"].astype(dtype), y.reshape(-1))

    return init, loss, (TYPE((batch, length), i32), TYPE((batch, masked), i32))


def decoder(batch, length, layers, width, heads, words=32000, dtype=bf16, scanned=False):
    """A language model with layers one after another, or in a loop whose body is computed again backward."""

    def init():
        p = dict(tok=z((words, width)), pos=z((length, width)), ln=(z(width), z(width)))
        if scanned:
            one = transformer_layer(width, 4 * width)
            return p | dict(l=jax.tree_util.tree_map(lambda a: z((layers, *a.shape)), one))
        return p | {f"l{i}": transformer_layer(width, 4 * width) for i in range(layers)}

    def layer(h, w):
        h = h + attention(layer_norm(h, w["a"], dtype), w, heads, True, dtype)
        return h + linear(nn.gelu(linear(layer_norm(h, w["b"], dtype), w["f"])), w["g"])

    def loss(p, x, y):
        h = p["tok"].astype(dtype)[x] + p["pos"].astype(dtype)
        if scanned:
            h = lax.scan(jax.checkpoint(lambda h, w: (layer(h, w), None)), h, p["l"])[0]
        else:
            for i in range(layers):
                h = layer(h, p[f"l{i}"])
        h = layer_norm(h, p["ln"], dtype).reshape(-1, width)
        return cross_entropy(h @ p["tok"].astype(dtype).T, y.reshape(-1))

    return init, loss, (TYPE((batch, length), i32), TYPE((batch, length), i32))


def vit(batch, layers, width, heads, dtype=bf16):
    patches = 196

    def init():
        p = dict(patch=affine(768, width), pos=z((patches, width)), out=affine(width, 1000))
        return p | {f"l{i}": transformer_layer(width, 4 * width) for i in range(layers)}

    def loss(p, x, y):
        h = x.reshape(batch, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(batch, patches, 768)
        h = linear(h, p["patch"]) + p["pos"].astype(dtype)
        for i in range(layers):
            w = p[f"l{i}"]
            h = h + attention(layer_norm(h, w["a"], dtype), w, heads, False, dtype)
            h = h + linear(nn.gelu(linear(layer_norm(h, w["b"], dtype), w["f"])), w["g"])
        return cross_entropy(linear(h.mean(1), p["out"]), y)

    return init, loss, labelled(batch, (224, 224, 3), dtype)


def mixer(batch, layers, width, dtype=bf16):
    patches = 196

    def init():
        p = dict(patch=affine(768, width), out=affine(width, 1000))
        for i in range(layers):
            p[f"l{i}"] = dict(
                n=(z(width), z(width)),
                a=affine(patches, 256),
                b=affine(256, patches),
                m=(z(width), z(width)),
                c=affine(width, 4 * width),
                d=affine(4 * width, width),
            )
        return p

    def loss(p, x, y):
        h = linear(x, p["patch"])
        for i in range(layers):
            w = p[f"l{i}"]
            t = layer_norm(h, w["n"], dtype).swapaxes(1, 2)
            h = h + linear(nn.gelu(linear(t, w["a"])), w["b"]).swapaxes(1, 2)
            h = h + linear(nn.gelu(linear(layer_norm(h, w["m"], dtype), w["c"])), w["d"])
        return cross_entropy(linear(h.mean(1), p["out"]), y)

    return init, loss, (TYPE((batch, patches, 768), dtype), TYPE((batch,), i32))


def embedding(words, width, fields, batch):
    def init():
        return dict(e=z((words, width)), a=affine(fields * width, 1024), b=affine(1024, 2))

    def loss(p, x, y):
        h = p["e"][x].reshape(batch, -1)
        return cross_entropy(linear(nn.relu(linear(h, p["a"])), p["b"]), y)

    return init, loss, (TYPE((batch, fields), i32), TYPE((batch,), i32))


def word2vec(words, width, batch):
    def init():
        return dict(e=z((words, width)), o=affine(width, words))

    def loss(p, x, y):
        return cross_entropy(linear(p["e"][x], p["o"]), y)

    return init, loss, (TYPE((batch,), i32), TYPE((batch,), i32))


def text_cnn(batch, length, words, width, dtype=f32):
    sizes = (3, 4, 5)

    def init():
        p = {f"c{n}": (z((n, width, 128)), z(128)) for n in sizes}
        return p | dict(e=z((words, width)), o=affine(3 * 128, 20))

    def loss(p, x, y):
        h = p["e"].astype(dtype)[x]
        found = []
        for n in sizes:
            w, b = to(dtype, p[f"c{n}"])
            c = lax.conv_general_dilated(h, w, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC"))
            found.append(jnp.max(nn.relu(c + b), 1))
        return cross_entropy(linear(jnp.concatenate(found, -1), p["o"]), y)

    return init, loss, (TYPE((batch, length), i32), TYPE((batch,), i32))


def wide_and_deep(batch, fields, words, width):
    def init():
        p = {f"e{i}": z((words, width)) for i in range(fields)}
        return p | dict(wide=z((fields, words)), a=affine(fields * width, 512), b=affine(512, 256), c=affine(256, 1))

    def loss(p, x, y):
        h = jnp.concatenate([p[f"e{i}"][x[:, i]] for i in range(fields)], -1)
        wide = sum(p["wide"][i][x[:, i]] for i in range(fields))
        h = nn.relu(linear(nn.relu(linear(h, p["a"])), p["b"]))
        logits = linear(h, p["c"])[:, 0] + wide
        return jnp.mean(nn.softplus(logits) - logits * y)

    return init, loss, (TYPE((batch, fields), i32), TYPE((batch,), f32))
