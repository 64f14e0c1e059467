"""What a TPU would say of runs and estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
from systole_tpu import tensorflow as tf
from systole_tpu import tpu_check

# A library that stands for libtpu.
FAKE = sorted(Path(__file__).parents[2].glob("build/*/lib/libsystole_fake_libtpu.so"))


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def network():
    x = tf.placeholder(tf.float32, [None, 64], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    logits = tf.layers.dense(tf.layers.dense(x, 512, tf.nn.relu), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    return x, y, loss, tf.train.AdamOptimizer().minimize(loss)


def test_memory_of_a_run():
    x, y, loss, train = network()
    report = tpu_check.check_run([train, {"loss": loss}], {x: [256, 64], "y:0": [256]})
    assert report.ok, str(report)
    memory = report.to_dict()["memory"]
    # Kernel, bias and two slots of each.
    assert memory["variables"] >= 3 * 4 * (64 * 512 + 512 * 10)
    assert memory["complete"] and 0 < memory["total"] < memory["limit"]
    assert "test_tensorflow_tpu_check.py" in str(report)
    larger = tpu_check.check_run(train, {x: [2048, 64], y: [2048]})
    assert larger.to_dict()["memory"]["step"] > memory["step"]


def test_what_is_refused():
    x = tf.placeholder(tf.float64, [None, 8])
    report = tpu_check.check_run(tf.reduce_sum(x))
    assert not report.ok
    assert "float64, which a TPU does not support" in str(report)
    assert "unknown shape" in str(report)
    findings = report.to_dict()["findings"]
    assert [finding["refused"] for finding in findings] == [True, True]


def test_bad_arguments():
    x, _, loss, _ = network()
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape of the feed 'x:0'"):
        tpu_check.check_run(loss, {x: [4, 63]})
    with pytest.raises(TypeError, match="unexpected keyword argument 'system'"):
        tpu_check.check_run(loss, system="v3-8")
    with pytest.raises(ValueError, match="'full' or 'low'"):
        tpu_check.check_run(loss, effort="high")


@pytest.mark.skipif(not FAKE, reason="needs the library that stands for libtpu")
def test_googles_compiler(tmp_path):
    x, y, loss, train = network()
    saved = tmp_path / "step.tpu"
    report = tpu_check.check_run(
        [train, loss], {x: [256, 64], y: [256]}, compile="v3-8", tpu_library=FAKE[0], save=saved
    )
    assert report.to_dict()["compiler"]["verdict"] == "fits"
    assert "Google's compiler (libtpu), for v3-8" in str(report)
    assert saved.stat().st_size > 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="v9-8"):
        tpu_check.check_run(loss, {x: [4, 64], y: [4]}, compile="v9-8", tpu_library=FAKE[0])


def test_an_estimator():
    def model_fn(features, labels, mode, params):
        loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(features, 10))
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        return tf.contrib.tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step())
        )

    def input_fn(params):
        arrays = (np.zeros((8, 64), np.float32), np.zeros(8, np.int32))
        return tf.data.Dataset.from_tensor_slices(arrays).repeat().batch(params["batch_size"], drop_remainder=True)

    config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(num_shards=8))
    estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=64, use_tpu=False)
    report = tpu_check.check_estimator(estimator, input_fn)
    assert report.ok, str(report)
    assert report.to_dict()["memory"]["inputs"] > 0
