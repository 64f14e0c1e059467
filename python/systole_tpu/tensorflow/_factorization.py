"""tf.contrib.factorization: clusters of rows, found while a program trains."""

from __future__ import annotations

from typing import Any

from ._framework import control_dependencies, convert_to_tensor, group, op
from ._registry import export
from ._variables import Variable

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"
KMC2_INIT = "kmc2"
for _name in ("SQUARED_EUCLIDEAN_DISTANCE", "COSINE_DISTANCE", "RANDOM_INIT", "KMEANS_PLUS_PLUS_INIT", "KMC2_INIT"):
    export(f"contrib.factorization.{_name}")(globals()[_name])


def _normalized(rows: Any) -> Any:
    return op("nn.l2_normalize", rows, axis=1)


@export("contrib.factorization.KMeans")
class KMeans:
    """k-means: each step moves centers to the means of the rows that are nearest to them.

    Rows of all inputs must be float32[?, d] with a known d. All first centers come from one run of init_op, which fails
    where its inputs have fewer than num_clusters rows. First centers by k-means++ and k-MC2 are not there.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        if isinstance(initial_clusters, str):
            if initial_clusters not in (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT):
                raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
            if initial_clusters != RANDOM_INIT:
                raise NotImplementedError(
                    f"KMeans: initial_clusters, got '{initial_clusters}', expected '{RANDOM_INIT}'"
                )
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        self._inputs = [convert_to_tensor(i) for i in (inputs if isinstance(inputs, list) else [inputs])]
        self._first = initial_clusters
        given = not isinstance(initial_clusters, str) and not callable(initial_clusters)
        if given:
            self._first = convert_to_tensor(initial_clusters)
        self._k = int(self._first.shape[0]) if given else int(num_clusters)
        self._cosine = distance_metric == COSINE_DISTANCE
        self._mini_batch = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._seed = random_seed

    def training_graph(self) -> tuple[Any, ...]:
        """(distances to all centers, nearest centers, distances to these, are there centers, init_op, train_op).

        The first three are tuples with a tensor for each input.
        """
        width = self._inputs[0].shape[1].value
        if width is None:
            raise ValueError(f"KMeans: inputs, got {self._inputs[0]!r}, expected a known number of columns")
        centers = Variable(op("zeros", [self._k, width]), name="clusters")
        started = Variable(False, name="initialized")
        several = self._mini_batch and self._steps > 1
        updated = Variable(op("zeros", [self._k, width]), name="clusters_updated") if several else centers
        init_op = self._init_op(centers, updated, started)
        inputs, used = self._inputs, centers.value()
        if self._cosine:
            inputs = [_normalized(i) for i in inputs]
            if self._mini_batch and not several:  # other centers are kept normalized
                used = _normalized(used)
        all_scores, indices, scores = zip(*(self._nearest(i, used) for i in inputs), strict=True)
        if self._mini_batch:
            train_op = self._mini_batch_step(inputs, indices, centers, updated)
        else:
            train_op = self._whole_step(inputs, indices, centers)
        return all_scores, indices, scores, started, init_op, train_op

    def _init_op(self, centers: Any, updated: Any, started: Any) -> Any:
        rows = op("concat", self._inputs, 0)
        if callable(self._first):
            first = self._first(self._inputs, self._k)
        elif isinstance(self._first, str):
            first = self._random_rows(rows)
        else:
            first = self._first
        if self._cosine:
            first = _normalized(first)
        targets = [centers] if updated is centers else [centers, updated]
        return group(*(v.assign(first) for v in targets), started.assign(True), name="initialize")

    def _random_rows(self, rows: Any) -> Any:
        count = op("shape", rows, out_type="int64")[0]
        enough = op("assert_greater_equal", count, op("constant", self._k, "int64"))
        with control_dependencies([enough]):
            places = op("random_uniform", [self._k], 0, count, dtype="int64", seed=self._seed)
            return op("gather", rows, places)

    def _nearest(self, rows: Any, centers: Any) -> tuple[Any, Any, Any]:
        """The distances of rows to all centers, the nearest ones, the distances to these."""
        products = op("matmul", rows, centers, transpose_b=True)
        if self._cosine:
            distances = 1 - products
        else:
            own = op("reduce_sum", op("square", rows), 1, keepdims=True)
            distances = own - 2 * products + op("reduce_sum", op("square", centers), 1)
        return distances, op("argmin", distances, 1), op("maximum", op("reduce_min", distances, 1), 0.0)

    def _sums(self, inputs: Any, indices: Any) -> tuple[Any, Any]:
        """The sum of the rows of each center, and their number."""
        sums = [op("unsorted_segment_sum", i, at, self._k) for i, at in zip(inputs, indices, strict=True)]
        ones = [op("unsorted_segment_sum", op("ones_like", at), at, self._k) for at in indices]
        return op("add_n", sums), op("add_n", ones)

    def _whole_step(self, inputs: Any, indices: Any, centers: Any) -> Any:
        sums, counts = self._sums(inputs, indices)
        means = sums / (op("expand_dims", op("cast", counts, sums.dtype), 1) + 1e-6)
        return centers.assign(_normalized(means) if self._cosine else means)

    def _mini_batch_step(self, inputs: Any, indices: Any, centers: Any, updated: Any) -> Any:
        """Each center moves towards the mean of its new rows by their share of all that it has had."""
        several = updated is not centers
        first = op("zeros" if several else "ones", [self._k], "int64")
        total = Variable(first)
        sums, counts = self._sums(inputs, indices)
        synced = self._sync(centers, updated, total) if several else (updated.value(), total.value())
        old, seen = synced
        all_seen = op("maximum", seen + counts, op("ones_like", counts))
        new = op("expand_dims", op("cast", counts, sums.dtype), 1)
        moved = (sums - new * old) / op("expand_dims", op("cast", all_seen, sums.dtype), 1)
        return group(updated.assign(old + moved), total.assign(seen + counts))

    def _sync(self, centers: Any, updated: Any, total: Any) -> tuple[Any, Any]:
        """Every so many steps, before the step: centers become the updated ones, and counts begin at 0."""
        left = Variable(op("constant", self._steps, "int64"), name="update_in_steps")
        due = op("less_equal", left.value(), op("constant", 0, "int64"))
        ready = _normalized(updated.value()) if self._cosine else updated.value()
        kept = op("where_v2", due, ready, centers.value())
        seen = op("where_v2", due, op("zeros_like", total.value()), total.value())
        next_left = op("where_v2", due, op("constant", self._steps - 1, "int64"), left.value() - 1)
        with control_dependencies([centers.assign(kept), left.assign(next_left)]):
            return op("identity", updated.value()), op("identity", seen)
