"""Two convolutions with pooling and a dense layer, on batches of 128."""

import tensorflow as tf
import training

x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
images = tf.reshape(x, [-1, 28, 28, 1])
conv = tf.layers.conv2d(images, 32, 5, padding="same", activation=tf.nn.relu)
pool = tf.layers.max_pooling2d(conv, 2, 2)
conv = tf.layers.conv2d(pool, 64, 5, padding="same", activation=tf.nn.relu)
pool = tf.layers.max_pooling2d(conv, 2, 2)
training.train_digits(x, y, tf.layers.dense(tf.layers.flatten(pool), 10))
