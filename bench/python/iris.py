"""The iris loop: 5 x 256 x 3, sigmoid, softmax cross entropy, SGD. A step feeds one flower; nothing is fetched.

With the argument "regression", softmax regression on all flowers at once.
"""

import sys

import tensorflow as tf
import training


def weights(*shape):
    return tf.Variable(tf.random_normal(shape, stddev=0.1))


x = tf.placeholder("float", shape=[None, 5])
y = tf.placeholder("float", shape=[None, 3])
if "regression" in sys.argv:
    logits = tf.matmul(x, weights(5, 3))
    size = 150
else:
    logits = tf.matmul(tf.nn.sigmoid(tf.matmul(x, weights(5, 256))), weights(256, 3))
    size = 1
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
updates = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
train_x, train_y = training.irises()

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    training.set_first_values(session)

    def loss():
        return session.run(cost, feed_dict={x: train_x, y: train_y})

    def train(steps):
        for step in range(steps):
            i = step * size % len(train_x)
            session.run(updates, feed_dict={x: train_x[i : i + size], y: train_y[i : i + size]})

    before = loss()
    train(training.COMPARED)
    training.measure([before, loss()], train)
