"""tf.contrib.tensor_forest: random forests that grow while a program feeds them.

All trees are one set of arrays: node `t * max_nodes + i` is node i of tree t, and node 0 of each is its root. A node
without a left child is a leaf; its right child follows the left one.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from ._framework import convert_to_tensor, group, op
from ._registry import NAMES, export
from ._variables import Variable, variable_scope

_FOREST = "contrib.tensor_forest.python.tensor_forest"
# What only the default of is there.
_USUAL = {
    "feature_bagging_fraction": 1.0, "model_name": "all_dense", "split_finish_name": "basic",
    "split_pruning_name": "none", "split_name": "less_or_equal", "regression": False, "param_file": None,
}  # fmt: skip


@export(f"{_FOREST}.ForestHParams", "contrib.tensor_forest.client.random_forest.ForestHParams")
class ForestHParams:
    """Settings of a forest: num_classes and num_features must be given. fill() sets the others."""

    def __init__(
        self,
        num_trees: int = 100,
        max_nodes: int = 10000,
        bagging_fraction: float = 1.0,
        num_splits_to_consider: int = 0,
        feature_bagging_fraction: float = 1.0,
        max_fertile_nodes: int = 0,
        split_after_samples: int = 250,
        valid_leaf_threshold: int = 1,
        dominate_method: str = "bootstrap",
        dominate_fraction: float = 0.99,
        model_name: str = "all_dense",
        split_finish_name: str = "basic",
        split_pruning_name: str = "none",
        prune_every_samples: int = 0,
        early_finish_check_every_samples: int = 0,
        collate_examples: bool = False,
        checkpoint_stats: bool = False,
        use_running_stats_method: bool = False,
        initialize_average_splits: bool = False,
        inference_tree_paths: bool = False,
        param_file: Any = None,
        split_name: str = "less_or_equal",
        **kwargs: Any,
    ) -> None:
        given = {k: v for k, v in locals().items() if k not in ("self", "kwargs", "__class__")}
        self.__dict__.update(given | kwargs)

    def values(self) -> dict[str, Any]:
        return self.__dict__

    def fill(self) -> ForestHParams:
        """Sets what was not given, and refuses what is not there."""
        features = self.__dict__.get("num_features")
        if features is None or self.__dict__.get("num_classes") is None:
            raise AttributeError("ForestHParams: num_classes and num_features, got none, expected both")
        for name, usual in _USUAL.items():
            if self.__dict__.setdefault(name, usual) != usual:
                raise NotImplementedError(f"ForestHParams: {name}, got {self.__dict__[name]!r}, expected {usual!r}")
        self.num_outputs, self.num_output_columns = 1, self.num_classes + 1
        self.bagged_num_features, self.bagged_features = features, None
        splits = self.num_splits_to_consider
        self.num_splits_to_consider = int(splits or min(max(10, math.floor(math.sqrt(features))), 1000))
        self.base_random_seed = getattr(self, "base_random_seed", 0)
        return self


@dataclasses.dataclass
class _Nodes:
    """The state of a forest of T trees of N nodes with C classes and S candidates of splits: M = T * N."""

    feature: Any  # int32[M]: of the split
    threshold: Any  # float32[M]: rows with at most this go left
    left: Any  # int32[M]: the left child; 0 for a leaf
    counts: Any  # float32[M, C]: rows by class, those of the split that made the node among them
    seen: Any  # float32[M, C]: rows by class since the node is there
    candidates: Any  # int32[M]
    candidate_feature: Any  # int32[M * S]
    candidate_threshold: Any  # float32[M * S]
    candidate_left: Any  # float32[M * S * C]: rows that the candidate sends left
    sizes: Any  # int32[T]: nodes that are in use

    def values(self) -> _Nodes:
        return _Nodes(**{f.name: getattr(self, f.name).value() for f in dataclasses.fields(self)})

    def assign(self, new: _Nodes) -> Any:
        return group(*(getattr(self, f.name).assign(getattr(new, f.name)) for f in dataclasses.fields(self)))


def _count(ids: Any, size: int, data: Any) -> Any:
    return op("unsorted_segment_sum", data, ids, size)


def _float(value: Any) -> Any:
    return op("cast", value, "float32")


def _integer(value: Any) -> Any:
    return op("cast", value, "int32")


@export(f"{_FOREST}.RandomForestGraphs", "contrib.tensor_forest.client.random_forest.RandomForestGraphs")
class RandomForestGraphs:
    """Graphs that train a forest of ForestHParams and that predict with it."""

    def __init__(self, params: ForestHParams, training: bool = True, **kwargs: Any) -> None:
        if any(value is not None for value in kwargs.values()):
            raise NotImplementedError(f"RandomForestGraphs: arguments, got {sorted(kwargs)}, expected params alone")
        self.params = params
        self._trees, self._size = int(params.num_trees), int(params.max_nodes)
        self._classes, self._splits = int(params.num_classes), int(params.num_splits_to_consider)
        self._all = self._trees * self._size
        with variable_scope("forest"):
            self._nodes = self._make_nodes()

    def _make_nodes(self) -> _Nodes:
        m, c, s = self._all, self._classes, self._splits

        def made(name: str, shape: list[int], dtype: str, value: int = 0) -> Any:
            return Variable(op("fill", shape, op("constant", value, dtype)), name=name, trainable=False)

        return _Nodes(
            feature=made("feature", [m], "int32"),
            threshold=made("threshold", [m], "float32"),
            left=made("left", [m], "int32"),
            counts=made("counts", [m, c], "float32"),
            seen=made("seen", [m, c], "float32"),
            candidates=made("candidates", [m], "int32"),
            candidate_feature=made("candidate_feature", [m * s], "int32"),
            candidate_threshold=made("candidate_threshold", [m * s], "float32"),
            candidate_left=made("candidate_left", [m * s * c], "float32"),
            sizes=made("sizes", [self._trees], "int32", 1),
        )

    # -- Rows on their way through the trees.

    def _rows(self, x: Any) -> tuple[Any, Any]:
        """For each tree and row, int32[T * B]: the row, and the root of the tree."""
        rows = op("range", op("shape", x)[0])
        roots = op("range", 0, self._all, self._size)
        shape = op("stack", [self._trees, op("shape", x)[0]])
        every = op("reshape", op("zeros", shape, "int32") + rows, [-1])
        return every, op("reshape", op("zeros", shape, "int32") + op("expand_dims", roots, 1), [-1])

    def _values(self, x: Any, rows: Any, features: Any) -> Any:
        """The values of features of rows."""
        return op("gather", op("reshape", x, [-1]), rows * int(self.params.num_features) + features)

    def _leaves(self, nodes: _Nodes, x: Any, rows: Any, roots: Any) -> Any:
        def below(at: Any) -> Any:
            value = self._values(x, rows, op("gather", nodes.feature, at))
            child = op("gather", nodes.left, at)
            right = _integer(value > op("gather", nodes.threshold, at))
            return op("where_v2", child > 0, child + right, at)

        return op("while_loop", lambda at: op("reduce_any", op("gather", nodes.left, at) > 0), below, [roots])

    # -- Training.

    def training_graph(self, input_data: Any, input_labels: Any, num_trainers: int = 1, trainer_id: int = 0) -> Any:
        """The operation that shows all trees a batch: float32[B, num_features] and integers [B]."""
        if num_trainers != 1:
            raise NotImplementedError("RandomForestGraphs.training_graph: num_trainers, expected 1")
        x, y = convert_to_tensor(input_data), _integer(op("reshape", convert_to_tensor(input_labels), [-1]))
        nodes = self._nodes.values()
        rows, roots = self._rows(x)
        at = self._leaves(nodes, x, rows, roots)
        if self.params.bagging_fraction < 1.0:
            chosen = op("random_uniform", op("shape", at), seed=self._seed(0)) < self.params.bagging_fraction
            at = op("where_v2", chosen, at, -1)  # which no sum counts
        label = op("gather", y, rows)
        added = _count(at, self._all, op("one_hot", label, self._classes))
        nodes = dataclasses.replace(nodes, counts=nodes.counts + added, seen=nodes.seen + added)
        nodes = self._with_candidates(nodes, x, rows, at)
        nodes = self._with_left_counts(nodes, x, rows, at, label)
        return self._nodes.assign(self._grown(nodes))

    def _seed(self, place: int) -> Any:
        return self.params.base_random_seed + place if self.params.base_random_seed else None

    def _with_candidates(self, nodes: _Nodes, x: Any, rows: Any, at: Any) -> _Nodes:
        """The first rows of a leaf give a candidate each: the row's value of a random feature."""
        leaves = op("reshape", at, op("stack", [self._trees, op("shape", x)[0]]))
        places = op("range", op("shape", x)[0])
        earlier = op("expand_dims", places, 1) > op("expand_dims", places, 0)
        same = op("equal", op("expand_dims", leaves, 2), op("expand_dims", leaves, 1))
        order = op("reshape", op("reduce_sum", _integer(op("logical_and", same, earlier)), 2), [-1])
        here = op("maximum", at, 0)
        place = op("gather", nodes.candidates, here) + order
        new = op("logical_and", place < self._splits, at >= 0)
        slot = op("where_v2", new, here * self._splits + place, -1)
        features = int(self.params.num_features)
        feature = op("random_uniform", op("shape", at), 0, features, dtype="int32", seed=self._seed(1))
        value = self._values(x, rows, feature)
        slots = self._all * self._splits
        return dataclasses.replace(
            nodes,
            candidate_feature=nodes.candidate_feature + _count(slot, slots, feature),
            candidate_threshold=nodes.candidate_threshold + _count(slot, slots, value),
            candidates=nodes.candidates + _count(op("where_v2", new, at, -1), self._all, op("ones_like", at)),
        )

    def _with_left_counts(self, nodes: _Nodes, x: Any, rows: Any, at: Any, label: Any) -> _Nodes:
        here, places = op("maximum", at, 0), op("range", self._splits)
        slots = op("expand_dims", here * self._splits, 1) + places
        feature = op("gather", nodes.candidate_feature, slots)
        value = self._values(x, op("expand_dims", rows, 1), feature)
        there = places < op("expand_dims", op("gather", nodes.candidates, here), 1)
        goes = op("logical_and", there, value <= op("gather", nodes.candidate_threshold, slots))
        ids = op("where_v2", op("expand_dims", at >= 0, 1), slots * self._classes + op("expand_dims", label, 1), -1)
        size = self._all * self._splits * self._classes
        return dataclasses.replace(nodes, candidate_left=nodes.candidate_left + _count(ids, size, _float(goes)))

    def _grown(self, nodes: _Nodes) -> _Nodes:
        """Leaves with enough rows of several classes split by the candidate of the least Gini impurity."""
        left = op("reshape", nodes.candidate_left, [self._all, self._splits, self._classes])
        impurity = self._impurity(nodes, left)
        best = op("argmin", impurity, 1, output_type="int32")
        classes = op("reduce_sum", _integer(nodes.seen > 0), 1)
        ready = op("logical_and", op("equal", nodes.left, 0), classes > 1)
        ready = op("logical_and", ready, op("reduce_sum", nodes.seen, 1) >= float(self.params.split_after_samples))
        ready = op("logical_and", ready, op("is_finite", op("reduce_min", impurity, 1)))
        by_tree = op("reshape", _integer(ready), [self._trees, self._size])
        child = op("expand_dims", nodes.sizes, 1) + 2 * op("cumsum", by_tree, 1, exclusive=True)
        split = op("logical_and", by_tree > 0, child + 1 < self._size)
        roots = op("expand_dims", op("range", 0, self._all, self._size), 1)
        child, split_all = op("reshape", child + roots, [-1]), op("reshape", split, [-1])
        slot = op("range", self._all) * self._splits + best
        goes_left = op("reduce_sum", left * op("expand_dims", op("one_hot", best, self._splits), 2), 1)
        first = op("where_v2", split_all, child, -1)
        second = op("where_v2", split_all, child + 1, -1)
        born = _count(first, self._all, goes_left) + _count(second, self._all, nodes.seen - goes_left)
        return dataclasses.replace(
            nodes,
            feature=op("where_v2", split_all, op("gather", nodes.candidate_feature, slot), nodes.feature),
            threshold=op("where_v2", split_all, op("gather", nodes.candidate_threshold, slot), nodes.threshold),
            left=op("where_v2", split_all, child, nodes.left),
            counts=nodes.counts + born,
            sizes=nodes.sizes + 2 * op("reduce_sum", _integer(split), 1),
        )

    def _impurity(self, nodes: _Nodes, left: Any) -> Any:
        """[M, S]: the impurity of both sides, weighted by their rows; infinite for a candidate with an empty side."""
        right = op("expand_dims", nodes.seen, 1) - left

        def side(counts: Any) -> tuple[Any, Any]:
            total = op("reduce_sum", counts, 2)
            return total, total - op("reduce_sum", op("square", counts), 2) / op("maximum", total, 1.0)

        (n_left, of_left), (n_right, of_right) = side(left), side(right)
        there = op("range", self._splits) < op("expand_dims", nodes.candidates, 1)
        valid = op("logical_and", there, op("logical_and", n_left > 0, n_right > 0))
        return op("where_v2", valid, of_left + of_right, float("inf"))

    # -- What a forest tells.

    def inference_graph(self, input_data: Any) -> tuple[Any, Any, Any]:
        """(probabilities [B, C], the leaf of each tree [B, T], the variance among the trees [B, C])."""
        x = convert_to_tensor(input_data)
        nodes = self._nodes.values()
        rows, roots = self._rows(x)
        at = self._leaves(nodes, x, rows, roots)
        counts = op("gather", nodes.counts, at)
        shares = counts / op("maximum", op("reduce_sum", counts, 1, keepdims=True), 1.0)
        shares = op("reshape", shares, op("stack", [self._trees, op("shape", x)[0], self._classes]))
        mean = op("reduce_mean", shares, 0)
        leaves = op("reshape", at - roots, op("stack", [self._trees, op("shape", x)[0]]))
        variance = op("maximum", op("reduce_mean", op("square", shares), 0) - op("square", mean), 0.0)
        return mean, op("transpose", leaves), variance

    def average_size(self) -> Any:
        """The mean number of nodes of the trees."""
        return op("reduce_mean", _float(self._nodes.sizes.value()))

    def training_loss(self, features: Any, labels: Any, name: str = "training_loss") -> Any:
        """Less for larger trees."""
        return op("negative", self.average_size(), name=name)

    def validation_loss(self, features: Any, labels: Any) -> Any:
        return op("negative", self.average_size())


@export("resources.shared_resources", "resources.local_resources")
def shared_resources() -> list[Any]:
    """Tables and forests are initialized with the variables: there are no others."""
    return []


@export("resources.initialize_resources")
def initialize_resources(resource_list: Any, name: str = "init") -> Any:
    return NAMES["no_op"](name=name)
