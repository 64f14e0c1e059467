#!/usr/bin/env python3
"""Records numbers of TensorFlow 2.15's losses, metrics and schedules, and of Keras 2.15's.

Run it with the Python of build/clients/keras2 (tools/install-clients.sh keras2).
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

from collections.abc import Callable
from typing import Any

import golden
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
RNG = np.random.default_rng(7)
NUMBERS = RNG.normal(size=(4, 3)).astype(np.float32), RNG.normal(size=(4, 3)).astype(np.float32)
CLASSES = np.array([0, 2, 1, 2])
ONE_HOT = np.eye(3, dtype=np.float32)[CLASSES]
BINARY = (RNG.uniform(size=(4, 3)) > 0.5).astype(np.float32)
PROBABILITIES = RNG.uniform(0.05, 0.95, size=(4, 3)).astype(np.float32)
SHARES = PROBABILITIES / PROBABILITIES.sum(axis=-1, keepdims=True)
WEIGHTS = np.array([[1], [0], [2], [0.5]], np.float32)


def arrays(**named: Any) -> dict[str, Any]:
    return {name: golden.tensor_json(array) for name, array in named.items()}


def keras_losses() -> dict[str, Any]:
    """A loss object's class and arguments, and its losses of examples."""
    logits = {"from_logits": True}
    smooth = {"label_smoothing": 0.1}
    cases = [
        ("MeanSquaredError", {}, *NUMBERS),
        ("MeanAbsoluteError", {}, *NUMBERS),
        ("MeanAbsolutePercentageError", {}, *NUMBERS),
        ("MeanSquaredLogarithmicError", {}, PROBABILITIES, NUMBERS[1]),
        ("Huber", {}, *NUMBERS),
        ("Huber", {"delta": 0.5}, *NUMBERS),
        ("LogCosh", {}, *NUMBERS),
        ("CosineSimilarity", {}, *NUMBERS),
        ("Poisson", {}, np.abs(NUMBERS[0]), PROBABILITIES),
        ("KLDivergence", {}, PROBABILITIES, SHARES),
        ("Hinge", {}, 2 * BINARY - 1, NUMBERS[1]),
        ("SquaredHinge", {}, 2 * BINARY - 1, NUMBERS[1]),
        ("CategoricalHinge", {}, ONE_HOT, NUMBERS[1]),
        ("BinaryCrossentropy", {}, BINARY, PROBABILITIES),
        ("BinaryCrossentropy", logits | smooth, BINARY, NUMBERS[1]),
        ("CategoricalCrossentropy", {}, ONE_HOT, PROBABILITIES),
        ("CategoricalCrossentropy", smooth, ONE_HOT, SHARES),
        ("CategoricalCrossentropy", logits, ONE_HOT, NUMBERS[1]),
        ("SparseCategoricalCrossentropy", {}, CLASSES, SHARES),
        ("SparseCategoricalCrossentropy", logits, CLASSES, NUMBERS[1]),
        ("BinaryFocalCrossentropy", {}, BINARY, PROBABILITIES),
        ("BinaryFocalCrossentropy", {"apply_class_balancing": True, "alpha": 0.3, "gamma": 1.5} | smooth, BINARY, PROBABILITIES),
        ("BinaryFocalCrossentropy", logits, BINARY, NUMBERS[1]),
        ("CategoricalFocalCrossentropy", {}, ONE_HOT, PROBABILITIES),
        ("CategoricalFocalCrossentropy", {"alpha": 0.4, "gamma": 1.5} | smooth, ONE_HOT, SHARES),
        ("CategoricalFocalCrossentropy", logits, ONE_HOT, NUMBERS[1]),
    ]
    found = {}
    for name, config, labels, predictions in cases:
        loss = getattr(tf.keras.losses, name)(reduction="none", **config)
        values = loss(labels, predictions).numpy()
        found[f"{name} {len(found)}"] = {"class_name": name, "config": config} | arrays(
            labels=labels, predictions=predictions, values=values
        )
    return found


def run(build: Callable[[], Any]) -> np.ndarray:
    """Returns the value of a graph of version 1."""
    with tf.Graph().as_default(), v1.Session() as session:
        result = build()
        session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        return session.run(result)


def losses() -> dict[str, Any]:
    """A function of tf.losses, its arguments, and its loss with weights."""
    cases = [
        ("mean_squared_error", {}, *NUMBERS),
        ("absolute_difference", {}, *NUMBERS),
        ("huber_loss", {"delta": 0.5}, *NUMBERS),
        ("hinge_loss", {}, BINARY, NUMBERS[1]),
        ("log_loss", {"epsilon": 1e-3}, BINARY, PROBABILITIES),
        ("cosine_distance", {"axis": 1}, *NUMBERS),
        ("sigmoid_cross_entropy", {"label_smoothing": 0.1}, BINARY, NUMBERS[1]),
        ("softmax_cross_entropy", {"label_smoothing": 0.1}, ONE_HOT, NUMBERS[1]),
        ("sparse_softmax_cross_entropy", {}, CLASSES, NUMBERS[1]),
        ("mean_pairwise_squared_error", {}, *NUMBERS),
    ]
    found = {}
    for name, config, labels, predictions in cases:
        weights = WEIGHTS[:, 0] if "softmax" in name else WEIGHTS
        value = run(lambda: getattr(v1.losses, name)(labels, predictions, weights=weights, **config))
        found[name] = {"config": config, "value": float(value)} | arrays(
            labels=labels, predictions=predictions, weights=weights
        )
    return found


def schedules() -> dict[str, Any]:
    """A function of tf.train, its arguments, and the rates at some steps."""
    steps = [0, 1, 4, 10, 11, 19, 25, 47]
    first = {"learning_rate": 0.5, "decay_steps": 10}
    cases = [
        ("exponential_decay", first | {"decay_rate": 0.9, "staircase": True}),
        ("natural_exp_decay", first | {"decay_rate": 0.9}),
        ("inverse_time_decay", first | {"decay_rate": 0.9}),
        ("polynomial_decay", first | {"end_learning_rate": 0.01, "power": 2.0, "cycle": True}),
        ("cosine_decay", first | {"alpha": 0.1}),
        ("cosine_decay_restarts", {"learning_rate": 0.5, "first_decay_steps": 5}),
        ("cosine_decay_restarts", {"learning_rate": 0.5, "first_decay_steps": 5, "t_mul": 1.0, "m_mul": 0.5, "alpha": 0.1}),
        ("linear_cosine_decay", first | {"num_periods": 1.5, "alpha": 0.1, "beta": 0.01}),
        ("noisy_linear_cosine_decay", first | {"initial_variance": 0.0}),
    ]
    found = {}
    for name, config in cases:
        rates = [float(run(lambda: getattr(v1.train, name)(global_step=v1.constant(step), **config))) for step in steps]
        found[f"{name} {len(found)}"] = {"name": name, "config": config, "steps": steps, "rates": rates}
    return found


def metrics() -> dict[str, Any]:
    """A function of tf.metrics, its arguments, and its value after two batches."""
    scores = PROBABILITIES.reshape(-1), RNG.uniform(size=12).astype(np.float32)
    answers = BINARY.reshape(-1), 1 - BINARY[::-1].reshape(-1)
    weights = np.linspace(0, 2, 12).astype(np.float32)
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in NUMBERS]
    classes = np.arange(12) % 3, np.array([0, 1, 1, 0, 0, 2, 1, 1, 1, 2, 1, 0])
    thresholds = [0.25, 0.5, 0.75]
    cases = [
        ("accuracy", {}, answers),
        ("precision", {}, answers),
        ("recall", {}, answers),
        ("true_positives", {}, answers),
        ("false_positives", {}, answers),
        ("true_negatives", {}, answers),
        ("false_negatives", {}, answers),
        ("mean_squared_error", {}, scores),
        ("root_mean_squared_error", {}, scores),
        ("mean_absolute_error", {}, scores),
        ("mean_cosine_distance", {"dim": 1}, units),
        ("mean_iou", {"num_classes": 4}, classes),
        ("mean_per_class_accuracy", {"num_classes": 3}, classes),
        ("recall_at_k", {"k": 2}, (CLASSES, SHARES)),
        ("precision_at_k", {"k": 2, "class_id": 2}, (CLASSES, SHARES)),
        ("auc", {"num_thresholds": 50}, (answers[0], scores[0])),
        ("auc", {"num_thresholds": 50, "curve": "PR"}, (answers[0], scores[0])),
        ("sensitivity_at_specificity", {"specificity": 0.4, "num_thresholds": 20}, (answers[0], scores[0])),
        ("specificity_at_sensitivity", {"sensitivity": 0.4, "num_thresholds": 20}, (answers[0], scores[0])),
        ("precision_at_thresholds", {"thresholds": thresholds}, (answers[0], scores[0])),
        ("recall_at_thresholds", {"thresholds": thresholds}, (answers[0], scores[0])),
        ("true_positives_at_thresholds", {"thresholds": thresholds}, (answers[0], scores[0])),
        ("false_positives_at_thresholds", {"thresholds": thresholds}, (answers[0], scores[0])),
        ("true_negatives_at_thresholds", {"thresholds": thresholds}, (answers[0], scores[0])),
        ("false_negatives_at_thresholds", {"thresholds": thresholds}, (answers[0], scores[0])),
    ]
    found = {}
    for name, config, (labels, predictions) in cases:
        given = {"mean_cosine_distance": WEIGHTS, "recall_at_k": WEIGHTS[:, 0], "precision_at_k": WEIGHTS[:, 0]}.get(name, weights)
        with tf.Graph().as_default(), v1.Session() as session:
            one = [tf.constant(x) for x in (labels, predictions)]
            result, update = getattr(v1.metrics, name)(*one, weights=tf.constant(given), **config)
            session.run(v1.local_variables_initializer())
            session.run(update)
            session.run(update)
            found[f"{name} {len(found)}"] = {"name": name, "config": config} | arrays(
                labels=labels, predictions=predictions, weights=given, value=session.run(result)
            )
    return found


if __name__ == "__main__":
    golden.record(
        {"keras_losses": keras_losses(), "losses": losses(), "schedules": schedules(), "metrics": metrics()}
    )
