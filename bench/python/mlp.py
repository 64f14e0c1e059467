"""784-512-512-10 on batches of 128."""

import tensorflow as tf
import training

x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
hidden = tf.layers.dense(x, 512, activation=tf.nn.relu)
hidden = tf.layers.dense(hidden, 512, activation=tf.nn.relu)
training.train_digits(x, y, tf.layers.dense(hidden, 10))
