"""The steps of MLPerf 0.5 and others on v2 and v3: what one of eight cores computes, under the axis "x" of cores."""

import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import lax, nn

sys.path.append(str(pathlib.Path(__file__).parent.parent / "libtpu"))
import step_models as m
import steps

TYPE = jax.ShapeDtypeStruct
f32, bf16, i32 = jnp.float32, jnp.bfloat16, jnp.int32
z = jnp.zeros
tree_map = jax.tree_util.tree_map


def data_parallel(model, optimizer):
    """(step, state, batch) of a model (init, loss, batch) whose gradients are summed over the cores."""
    init, loss, batch = model
    init_state, update = optimizer()

    def setup():
        p = init()
        return p, init_state(p)

    def step(state, *batch):
        p, s = state
        gradient = tree_map(lambda g: lax.psum(g, "x"), jax.grad(loss)(p, *batch))
        return update(gradient, s, p)

    return step, jax.eval_shape(setup), batch


def ssd(images):
    """SSD with ResNet-34 (Liu et al. 2016). The sort that finds hard negative boxes is left out."""
    blocks = ((3, 64, 1), (4, 128, 2), (6, 256, 1))
    # Features within and of a level, boxes at each of its positions, stride and padding of its second convolution.
    levels = (
        (256, 512, 6, 2, "SAME"),
        (256, 512, 6, 2, "SAME"),
        (128, 256, 6, 2, "SAME"),
        (128, 256, 4, 1, "VALID"),
        (128, 256, 4, 1, "VALID"),
    )
    boxes, classes = 8732, 81

    def unit(kernel, a, b):
        return z((kernel, kernel, a, b)), m.pair(b)

    def biased(kernel, a, b):
        return z((kernel, kernel, a, b)), z(b)

    def init():
        p = dict(stem=unit(7, 3, 64))
        features = 64
        for group, (count, c, _) in enumerate(blocks):
            for i in range(count):
                p[f"{group}_{i}a"], p[f"{group}_{i}b"] = unit(3, features, c), unit(3, c, c)
                if features != c:
                    p[f"{group}_{i}s"] = unit(1, features, c)
                features = c
        p["c0"], p["r0"] = biased(3, features, 4 * classes), biased(3, features, 4 * 4)
        for i, (inner, c, count, _, _) in enumerate(levels, 1):
            p[f"i{i}"], p[f"o{i}"] = biased(1, features, inner), biased(3, inner, c)
            p[f"c{i}"], p[f"r{i}"] = biased(3, c, count * classes), biased(3, c, count * 4)
            features = c
        return p

    def normal(x, p, stride=1):
        return m.normalized(m.conv(x, p[0], stride), p[1], bf16)

    def plain(x, p, stride=1, padding="SAME"):
        y = lax.conv_general_dilated(
            x, p[0].astype(x.dtype), (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return y + p[1].astype(x.dtype)

    def loss(p, x, places, labels):
        h = m.max_pool(nn.relu(normal(x, p["stem"], 2)), 3)
        for group, (count, _, stride) in enumerate(blocks):
            for i in range(count):
                stride = stride if i == 0 else 1
                y = nn.relu(normal(h, p[f"{group}_{i}a"], stride))
                name = f"{group}_{i}s"
                h = nn.relu(normal(y, p[f"{group}_{i}b"]) + (normal(h, p[name], stride) if name in p else h))
        scores, offsets = [], []
        for i in range(len(levels) + 1):
            if i > 0:
                _, _, _, stride, padding = levels[i - 1]
                h = nn.relu(plain(nn.relu(plain(h, p[f"i{i}"])), p[f"o{i}"], stride, padding))
            scores.append(plain(h, p[f"c{i}"]).reshape(images, -1, classes))
            offsets.append(plain(h, p[f"r{i}"]).reshape(images, -1, 4))
        scores = jnp.concatenate(scores, 1).astype(f32)
        d = jnp.concatenate(offsets, 1).astype(f32) - places
        smooth = jnp.where(jnp.abs(d) < 1, 0.5 * d * d, jnp.abs(d) - 0.5).sum(-1)
        chosen = jnp.sum(scores * nn.one_hot(labels, classes), -1)
        return jnp.mean(nn.logsumexp(scores, -1) - chosen) + jnp.mean(jnp.where(labels > 0, smooth, 0))

    batch = TYPE((images, 300, 300, 3), bf16), TYPE((images, boxes, 4), f32), TYPE((images, boxes), i32)
    return data_parallel((init, loss, batch), steps.momentum)


def gnmt(pairs, length, units=1024, words=32316, rows=512):
    """Google's translator of 4 and 4 layers; loops backward compute the forward pass again, the loss is a loop too."""
    encoder, decoder = (2, 2, 3, 2, 2), (3, 3, 3, 3)

    def init():
        p = dict(e=z((words, units)), o=z((units, words)), query=z((units, units)), keys=z((units, units)), v=z(units))
        for part, cells in (("e", encoder), ("d", decoder)):
            p |= {f"{part}{i}": (z((n * units, 4 * units)), z(4 * units)) for i, n in enumerate(cells)}
        return p

    def cell(w, state, *inputs):
        h, s = state
        i, f, g, o = jnp.split(m.linear(jnp.concatenate([*inputs, h], -1), w), 4, -1)
        s = nn.sigmoid(f) * s + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(s)
        return (h, s)

    def run(w, x, reverse=False):
        @jax.checkpoint
        def word(state, x):
            state = cell(w, state, x)
            return state, state[0]

        zero = z((pairs, units), bf16)
        return lax.scan(word, (zero, zero), x, reverse=reverse)[1]

    def encoded(p, x):
        h = p["e"].astype(bf16)[x]
        h = jnp.concatenate([run(p["e0"], h), run(p["e1"], h, True)], -1)
        h = run(p["e2"], h)
        for i in (3, 4):
            h = h + run(p[f"e{i}"], h)
        return h

    def decoded(p, source, y):
        keys = source @ p["keys"].astype(bf16)

        @jax.checkpoint
        def word(carried, x):
            states, context = carried
            made = []
            for i, state in enumerate(states):
                made.append(cell(p[f"d{i}"], state, x, context))
                x = x + made[-1][0] if i > 1 else made[-1][0]
                if i == 0:
                    query = x @ p["query"].astype(bf16)
                    scores = jnp.sum(jnp.tanh(keys + query) * p["v"].astype(bf16), -1).astype(f32)
                    context = jnp.sum(nn.softmax(scores, 0).astype(bf16)[:, :, None] * source, 0)
            return (tuple(made), context), x

        zero = z((pairs, units), bf16)
        return lax.scan(word, (((zero, zero),) * 4, zero), p["e"].astype(bf16)[y])[1]

    def loss(p, x, y, labels):
        h = decoded(p, encoded(p, x), y).astype(f32).reshape(-1, rows, units)

        @jax.checkpoint
        def block(total, part):
            h, labels = part
            return total + m.cross_entropy(h @ p["o"], labels), None

        return lax.scan(block, z(()), (h, labels.reshape(-1, rows)))[0]

    def clipped_adam():
        init_state, update = steps.adam()

        def clipped(g, s, p):
            norm = jnp.sqrt(sum(jnp.sum(a * a) for a in jax.tree_util.tree_leaves(g)))
            return update(tree_map(lambda a: a * jnp.minimum(1, 5 / norm), g), s, p)

        return init_state, clipped

    tokens = TYPE((length, pairs), i32)
    return data_parallel((init, loss, (tokens, tokens, tokens)), clipped_adam)


def mnist_notebook(images):
    """tensorflow/tpu, tools/colab/mnist_tpuestimator.ipynb."""
    convolutions = ((3, 1, 6, 1), (6, 6, 12, 2), (6, 12, 24, 2))

    def init():
        p = {f"c{i}": (z((k, k, a, b)), m.pair(b)) for i, (k, a, b, _) in enumerate(convolutions)}
        return p | dict(d=m.affine(7 * 7 * 24, 200), o=m.affine(200, 10))

    def loss(p, x, y):
        for i, (*_, stride) in enumerate(convolutions):
            w, scale = p[f"c{i}"]
            x = nn.relu(m.normalized(m.conv(x, w, stride), scale, f32))
        h = nn.relu(m.linear(x.reshape(images, -1), p["d"]))
        return m.cross_entropy(m.linear(h, p["o"]), y)

    return data_parallel((init, loss, m.labelled(images, (28, 28, 1), f32)), steps.adam)


def product(rows, inner, columns):
    def step(state, x, y):
        return state, x @ y

    return step, (), (TYPE((rows, inner), bf16), TYPE((inner, columns), bf16))


def reduce_scatter(rows, columns):
    def step(state, x):
        return state, lax.psum_scatter(x, "x", tiled=True)

    return step, (), (TYPE((rows, columns), bf16),)
