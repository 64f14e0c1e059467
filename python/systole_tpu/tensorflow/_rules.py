"""tf.losses and tf.metrics, whose lists are C++'s."""

from __future__ import annotations

from typing import Any

from systole_tpu import _core

from ._arguments import bind, check_kinds, described, refuse_rest, signature_of
from ._framework import GraphKeys, add_to_collection, get_collection, known, notes
from ._registry import export

# What tf.losses calls labels and predictions, where it is another name.
_LABELS = {
    "softmax_cross_entropy": ("onehot_labels", "logits"),
    "sigmoid_cross_entropy": ("multi_class_labels", "logits"),
    "sparse_softmax_cross_entropy": ("labels", "logits"),
    "hinge_loss": ("labels", "logits"),
}


@export("losses.Reduction")
class Reduction:
    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS


def _loss(name: str, doc: str, arguments: Any) -> Any:
    labels, predictions = _LABELS.get(name, ("labels", "predictions"))
    kinds = {a[0]: a[1] for a in arguments}
    own = list(kinds)
    full = f"losses.{name}"
    signature = signature_of(full, [labels, predictions, "weights", *own, "scope", "loss_collection", "reduction"])

    def loss(*args: Any, **kwargs: Any) -> Any:
        values = bind(full, signature, own, args, kwargs)
        refuse_rest(
            full, signature, values, [labels, predictions, "weights", "dim", "loss_collection", "reduction", *own]
        )
        for needed in (labels, predictions):
            if values.get(needed) is None:
                raise ValueError(f"{needed} must not be None.")
        if values.get("dim") is not None:
            values["axis"] = values["dim"]
        check_kinds(full, signature, kinds, values)
        collection = values.get("loss_collection", "losses")
        return _core.loss(
            name, values[labels], values[predictions], values.get("weights", 1.0),
            {k: values[k] for k in own if k in values}, values.get("reduction", Reduction.SUM_BY_NONZERO_WEIGHTS),
            values.get("scope") or "", collection or "",
        )  # fmt: skip

    return described(loss, name, doc, signature)


for _name, _doc, _arguments in _core.losses():
    export(f"losses.{_name}")(_loss(_name, _doc, _arguments))


@export("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any, weights: Any = 1.0, scope: Any = None, loss_collection: Any = "losses", reduction: Any = None
) -> Any:
    return _core.compute_weighted_loss(losses, weights, scope or "", loss_collection or "")


@export("losses.add_loss")
def add_loss(loss: Any, loss_collection: str = "losses") -> None:
    if loss_collection:
        add_to_collection(loss_collection, loss)


@export("losses.get_losses")
def get_losses(scope: Any = None, loss_collection: str = "losses") -> list[Any]:
    return get_collection(loss_collection, scope)


@export("losses.get_regularization_losses")
def get_regularization_losses(scope: Any = None) -> list[Any]:
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export("losses.get_regularization_loss")
def get_regularization_loss(scope: Any = None, name: str = "total_regularization_loss") -> Any:
    return _core.get_regularization_loss()


@export("losses.get_total_loss")
def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: Any = None) -> Any:
    return _core.get_total_loss(add_regularization_losses)


def _metric(name: str, doc: str, arguments: Any, values_alone: bool) -> Any:
    kinds = {a[0]: a[1] for a in arguments}
    own = list(kinds)
    inputs = ["values"] if values_alone else ["labels", "predictions"]
    full = f"metrics.{name}"
    tail = ["metrics_collections", "updates_collections", "name"]
    signature = signature_of(full, [*inputs, "weights", *own, *tail])
    inputs = list(signature.parameters)[: len(inputs)]

    def metric(*args: Any, **kwargs: Any) -> Any:
        values = bind(full, signature, own, args, kwargs)
        refuse_rest(full, signature, values, [*inputs, "weights", *own, *tail])
        check_kinds(full, signature, kinds, values)
        given = {k: values[k] for k in own if k in values}
        weights = values.get("weights")
        value, update, accumulators = _core.metric(
            name,
            values[inputs[0]],
            values[inputs[-1]],
            1.0 if weights is None else weights,
            given,
            values.get("name") or "",
        )
        notes(update.graph, "_accumulators")[update] = accumulators
        for key, item in (("metrics_collections", value), ("updates_collections", update)):
            for collection in values.get(key) or []:
                add_to_collection(collection, item)
        return value, update

    return described(metric, name, doc, signature)


def accumulators_of(update: Any) -> list[Any]:
    """The variables of the metric of an update op: what replicas add together."""
    return known(update.graph, "_accumulators").get(update, [])


for _name, _doc, _arguments, _alone in _core.metrics():
    export(f"metrics.{_name}")(_metric(_name, _doc, _arguments, _alone))
