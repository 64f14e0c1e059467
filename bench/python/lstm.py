"""An LSTM of 128 units over the 28 rows of an image, on batches of 128; with the argument "dynamic", by dynamic_rnn."""

import sys

import tensorflow as tf
import training

x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
rows = tf.reshape(x, [-1, 28, 28])
cell = tf.nn.rnn_cell.BasicLSTMCell(128)
if "dynamic" in sys.argv:
    outputs, _ = tf.nn.dynamic_rnn(cell, rows, dtype=tf.float32)
    last = outputs[:, -1]
else:
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(rows, 28, 1), dtype=tf.float32)
    last = outputs[-1]
training.train_digits(x, y, tf.layers.dense(last, 10))
