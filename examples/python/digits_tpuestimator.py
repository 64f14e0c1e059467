"""A TPUEstimator of 2018 on handwritten digits: reaches 95 % accuracy on digits that it has not seen.

systole run examples/python/digits_tpuestimator.py [--train_steps=300]
systole run --tpu v2-8 examples/python/digits_tpuestimator.py --use_tpu      on the eight cores of a virtual TPU
"""

import os

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("train_steps", 300, "Steps of training.")
flags.DEFINE_integer("iterations", 50, "Steps of a loop on the TPU.")
flags.DEFINE_bool("use_tpu", False, "Train on the TPU.")
flags.DEFINE_string("tpu", "my_tpu", "The TPU's name.")
flags.DEFINE_string("data", os.path.join(os.path.dirname(__file__), "../data/digits.csv"), "The digits.")
FLAGS = flags.FLAGS


def digits(training):
    rows = np.loadtxt(FLAGS.data, delimiter=",", dtype=np.float32)
    rows = rows[::2] if training else rows[1::2]
    return rows[:, :64] / 16, rows[:, 64].astype(np.int32)


def input_fn_of(training):
    def input_fn(params):
        dataset = tf.data.Dataset.from_tensor_slices(digits(training))
        if training:
            dataset = dataset.shuffle(1000).repeat()
        return dataset.batch(params["batch_size"], drop_remainder=True)

    return input_fn


def metric_fn(labels, logits):
    return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, axis=1))}


def model_fn(features, labels, mode, params):
    images = tf.reshape(features, [-1, 8, 8, 1])
    conv = tf.layers.conv2d(images, 16, 3, padding="same", activation=tf.nn.relu)
    pool = tf.layers.max_pooling2d(conv, 2, 2)
    logits = tf.layers.dense(tf.layers.flatten(pool), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(metric_fn, [labels, logits]))
    optimizer = tf.train.AdamOptimizer(params["learning_rate"])
    if FLAGS.use_tpu:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def main(_):
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu) if FLAGS.use_tpu else None
    config = tf.contrib.tpu.RunConfig(
        cluster=resolver, tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=FLAGS.iterations)
    )
    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn, use_tpu=FLAGS.use_tpu, train_batch_size=128, eval_batch_size=64, config=config,
        params={"learning_rate": 0.01},
    )  # fmt: skip
    estimator.train(input_fn_of(True), max_steps=FLAGS.train_steps)
    result = estimator.evaluate(input_fn_of(False), steps=len(digits(False)[1]) // 64)
    print("accuracy: %.3f" % result["accuracy"])


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run()
