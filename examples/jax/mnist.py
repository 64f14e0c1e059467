"""A convolutional network on MNIST with Flax and Optax, on one device or on all devices of SYSTOLE_CORES.

Each device works on its part of a batch: jit splits the program by the shardings of its arguments. Without --data_dir
it trains on the small pictures of examples/data.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import digits
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec


class Model(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        for features in (32, 64):
            x = nn.relu(nn.Conv(features, (3, 3))(x))
            x = nn.max_pool(x, (2, 2), (2, 2))
        x = nn.relu(nn.Dense(128)(x.reshape(x.shape[0], -1)))
        return nn.Dense(10)(x)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data_dir", default="", help="the folder with mnist/*.gz")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch_size", type=int, default=128, help="of all devices (default: %(default)s)")
    a = p.parse_args()

    (pictures, labels), (test_pictures, test_labels) = digits.load(a.data_dir)
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    split, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    print(f"{len(labels)} pictures, {mesh.size} x {jax.devices()[0].platform}")

    model, optimizer = Model(), optax.adam(1e-3)

    @jax.jit
    def start(key: Any) -> Any:
        params = model.init(key, jnp.zeros((1, 28, 28, 1)))
        return params, optimizer.init(params)

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, x), y).mean()

    @jax.jit(donate_argnums=0, out_shardings=(everywhere, everywhere))
    def step(state: Any, x: Any, y: Any) -> Any:
        params, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        updates, moments = optimizer.update(gradients, moments, params)
        return (optax.apply_updates(params, updates), moments), loss

    @jax.jit
    def hits(params: Any, x: Any, y: Any) -> Any:
        return (model.apply(params, x).argmax(-1) == y).sum()

    state = jax.device_put(start(jax.random.key(0)), everywhere)
    random = np.random.default_rng(0)
    for epoch in range(a.epochs):
        begin, losses = time.monotonic(), []
        order = random.permutation(len(labels))
        for i in range(0, len(order) - a.batch_size + 1, a.batch_size):
            batch = order[i : i + a.batch_size]
            state, loss = step(state, *jax.device_put((pictures[batch], labels[batch]), split))
            losses.append(loss)
        tested = len(test_labels) // mesh.size * mesh.size
        right = hits(state[0], *jax.device_put((test_pictures[:tested], test_labels[:tested]), split))
        mean = float(np.mean(jax.device_get(losses)))
        seconds = time.monotonic() - begin
        print(f"epoch {epoch + 1}: loss {mean:.4f}, test accuracy {right / tested:.4f}, {seconds:.1f} s")


if __name__ == "__main__":
    main()
