"""A convolutional network on MNIST with Flax and Optax, on one device or on all devices of SYSTOLE_CORES.

Each device works on its part of a batch. With `--by jit` the program is that of all devices, which jit splits by the
shardings of its arguments; with `--by shard_map` it is that of one of them. Without --data_dir it trains on the small
pictures of examples/data.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
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


class Training:
    """A model and what trains it on some devices."""

    def __init__(self, devices: Sequence[Any], by: str) -> None:
        self.mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
        self._split = NamedSharding(self.mesh, PartitionSpec("data"))
        everywhere = NamedSharding(self.mesh, PartitionSpec())
        model, self._optimizer = Model(), optax.adam(1e-3)
        self._apply = model.apply

        @jax.jit
        def start(key: Any) -> Any:
            params = model.init(key, jnp.zeros((1, 28, 28, 1)))
            return params, self._optimizer.init(params)

        self.state = jax.device_put(start(jax.random.key(0)), everywhere)
        self._step = jax.jit(
            self._step_of_one() if by == "shard_map" else self._step_with(self._loss),
            donate_argnums=0,
            out_shardings=(everywhere, everywhere),
        )
        self._hits = jax.jit(lambda params, x, y: (self._apply(params, x).argmax(-1) == y).sum())

    def _loss(self, params: Any, x: Any, y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(self._apply(params, x), y).mean()

    def _step_with(self, loss_of: Callable[..., Any]) -> Callable[..., Any]:
        def step(state: Any, x: Any, y: Any) -> Any:
            params, moments = state
            loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
            updates, moments = self._optimizer.update(gradients, moments, params)
            return (optax.apply_updates(params, updates), moments), loss

        return step

    def _step_of_one(self) -> Callable[..., Any]:
        """Returns the step of a device: its loss is the mean over all devices, which makes its gradients so, too."""

        def loss_of(params: Any, x: Any, y: Any) -> Any:
            return jax.lax.pmean(self._loss(params, x, y), "data")

        part, whole = PartitionSpec("data"), PartitionSpec()
        return jax.shard_map(
            self._step_with(loss_of), mesh=self.mesh, in_specs=(whole, part, part), out_specs=(whole, whole)
        )

    def step(self, x: Any, y: Any) -> Any:
        """Trains on a batch, and returns its loss."""
        self.state, loss = self._step(self.state, *jax.device_put((x, y), self._split))
        return loss

    def hits(self, x: Any, y: Any) -> int:
        """Returns how many digits the model finds."""
        return int(self._hits(self.state[0], *jax.device_put((x, y), self._split)))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data_dir", default="", help="the folder with mnist/*.gz")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch_size", type=int, default=128, help="of all devices (default: %(default)s)")
    p.add_argument("--by", choices=("jit", "shard_map"), default="jit", help="who splits the work")
    a = p.parse_args()

    (pictures, labels), (test_pictures, test_labels) = digits.load(a.data_dir)
    training = Training(jax.devices(), a.by)
    devices = training.mesh.size
    print(f"{len(labels)} pictures, {devices} x {jax.devices()[0].platform}")
    random = np.random.default_rng(0)
    for epoch in range(a.epochs):
        begin, losses = time.monotonic(), []
        order = random.permutation(len(labels))
        for i in range(0, len(order) - a.batch_size + 1, a.batch_size):
            batch = order[i : i + a.batch_size]
            losses.append(training.step(pictures[batch], labels[batch]))
        tested = len(test_labels) // devices * devices
        right = training.hits(test_pictures[:tested], test_labels[:tested])
        mean = float(np.mean(jax.device_get(losses)))
        seconds = time.monotonic() - begin
        print(f"epoch {epoch + 1}: loss {mean:.4f}, test accuracy {right / tested:.4f}, {seconds:.1f} s")


if __name__ == "__main__":
    main()
