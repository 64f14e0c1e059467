"""A perceptron by placeholders and a loop of session.run: `systole run examples/python/iris_session.py iris.csv`.

iris.csv: 150 lines of four lengths and the name of the flower.
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.contrib import tpu
from tensorflow.contrib.cluster_resolver import TPUClusterResolver


def iris_data(path):
    """Lengths with a column of ones for the bias, and the flowers as one-hot rows: to train, and to test."""
    with open(path) as file:
        rows = [line.strip().split(",") for line in file if line[:1].isdigit()]
    order = np.random.RandomState(42).permutation(len(rows))
    names = sorted({row[4] for row in rows})
    x = np.array([[1.0, *map(float, rows[i][:4])] for i in order])
    y = np.eye(len(names))[[names.index(rows[i][4]) for i in order]]
    return x[:100], x[100:], y[:100], y[100:]


def init_weights(shape):
    return tf.Variable(tf.random_normal(shape, stddev=0.1))


def main(argv):
    tf.set_random_seed(42)
    train_x, test_x, train_y, test_y = iris_data(argv[1])
    x = tf.placeholder("float", shape=[None, 5])
    y = tf.placeholder("float", shape=[None, 3])
    hidden = tf.nn.sigmoid(tf.matmul(x, init_weights((5, 256))))
    logits = tf.matmul(hidden, init_weights((256, 3)))
    predict = tf.argmax(logits, axis=1)
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
    updates = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
    # With `systole run --tpu v2-8` the TPU is a virtual one of this machine.
    master = TPUClusterResolver(tpu=["my_tpu"]).get_master() if "--on_tpu" in argv else ""
    with tf.Session(master) as session:
        if master:
            session.run(tpu.initialize_system())
        session.run(tf.global_variables_initializer())
        for _ in range(100):
            for i in range(len(train_x)):
                session.run(updates, feed_dict={x: train_x[i : i + 1], y: train_y[i : i + 1]})
        correct = np.argmax(test_y, axis=1) == session.run(predict, feed_dict={x: test_x})
        print(f"test accuracy = {100 * np.mean(correct):.2f}%")
        if master:
            session.run(tpu.shutdown_system())


if __name__ == "__main__":
    main(sys.argv)
