"""A convolutional network for TPUEstimator:

    systole run --tpu v2-8 examples/python/mnist_tpu_estimator.py --train_file=...

The file has tf.Examples with `image_raw`, 28 * 28 bytes, and `label`.
"""

import tensorflow as tf
from tensorflow.contrib.tpu.python.tpu import tpu_config, tpu_estimator, tpu_optimizer

tf.flags.DEFINE_string("master", "", "The TPU.")
tf.flags.DEFINE_string("model_dir", None, "Where checkpoints go.")
tf.flags.DEFINE_string("train_file", "", "A file of tf.Examples.")
tf.flags.DEFINE_integer("batch_size", 128, "Of all cores together.")
tf.flags.DEFINE_integer("train_steps", 1000, "Steps to train.")
tf.flags.DEFINE_integer("iterations", 50, "Steps of a loop on the TPU.")
tf.flags.DEFINE_integer("num_shards", 8, "Cores.")
tf.flags.DEFINE_integer("dataset_reader_buffer_size", 8 * 1024 * 1024, "In bytes.")
tf.flags.DEFINE_float("learning_rate", 0.05, "At the first step.")
tf.flags.DEFINE_bool("use_tpu", True, "Whether to train on a TPU.")
FLAGS = tf.flags.FLAGS


def model_fn(features, labels, mode, params):
    """A simple CNN."""
    del params  # unused
    input_layer = tf.reshape(features, [-1, 28, 28, 1])
    conv1 = tf.layers.conv2d(inputs=input_layer, filters=32, kernel_size=[5, 5], padding="same", activation=tf.nn.relu)
    pool1 = tf.layers.max_pooling2d(inputs=conv1, pool_size=[2, 2], strides=2)
    conv2 = tf.layers.conv2d(inputs=pool1, filters=64, kernel_size=[5, 5], padding="same", activation=tf.nn.relu)
    pool2 = tf.layers.max_pooling2d(inputs=conv2, pool_size=[2, 2], strides=2)
    pool2_flat = tf.reshape(pool2, [-1, 7 * 7 * 64])
    dense = tf.layers.dense(inputs=pool2_flat, units=128, activation=tf.nn.relu)
    dropout = tf.layers.dropout(inputs=dense, rate=0.4, training=mode == tf.estimator.ModeKeys.TRAIN)
    logits = tf.layers.dense(inputs=dropout, units=10)
    onehot_labels = tf.one_hot(indices=tf.cast(labels, tf.int32), depth=10)
    loss = tf.losses.softmax_cross_entropy(onehot_labels=onehot_labels, logits=logits)
    learning_rate = tf.train.exponential_decay(FLAGS.learning_rate, tf.train.get_global_step(), 100000, 0.96)
    optimizer = tpu_optimizer.CrossShardOptimizer(tf.train.GradientDescentOptimizer(learning_rate=learning_rate))
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tpu_estimator.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train_op)


def get_input_fn(filename):
    """Returns an `input_fn` for train and eval."""

    def input_fn(params):
        """An input_fn to parse 28x28 images from filename using tf.data."""
        batch_size = params["batch_size"]

        def parser(serialized_example):
            """Parses a single tf.Example into image and label tensors."""
            features = tf.parse_single_example(
                serialized_example,
                features={
                    "image_raw": tf.FixedLenFeature([], tf.string),
                    "label": tf.FixedLenFeature([], tf.int64),
                },
            )
            image = tf.decode_raw(features["image_raw"], tf.uint8)
            image.set_shape([28 * 28])
            # Normalize the values of the image from the range [0, 255] to [-0.5, 0.5]
            image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
            label = tf.cast(features["label"], tf.int32)
            return image, label

        dataset = tf.data.TFRecordDataset(filename, buffer_size=FLAGS.dataset_reader_buffer_size)
        dataset = dataset.map(parser).cache().repeat().batch(batch_size)
        images, labels = dataset.make_one_shot_iterator().get_next()
        # set_shape to give inputs statically known shapes.
        images.set_shape([batch_size, 28 * 28])
        labels.set_shape([batch_size])
        return images, labels

    return input_fn


def main(unused_argv):
    tf.logging.set_verbosity(tf.logging.INFO)
    run_config = tpu_config.RunConfig(
        master=FLAGS.master,
        model_dir=FLAGS.model_dir,
        session_config=tf.ConfigProto(allow_soft_placement=True, log_device_placement=True),
        tpu_config=tpu_config.TPUConfig(FLAGS.iterations, FLAGS.num_shards),
    )
    estimator = tpu_estimator.TPUEstimator(
        model_fn=model_fn,
        use_tpu=FLAGS.use_tpu,
        train_batch_size=FLAGS.batch_size,
        eval_batch_size=FLAGS.batch_size,
        config=run_config,
    )
    estimator.train(input_fn=get_input_fn(FLAGS.train_file), max_steps=FLAGS.train_steps)


if __name__ == "__main__":
    tf.app.run()
