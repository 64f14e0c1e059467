"""Queues, files, savers with names of their own, SavedModels."""

from __future__ import annotations

import codecs

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
from systole_tpu import tensorflow as tf


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def test_saver_with_names_of_its_own(tmp_path):
    w = tf.Variable([1.0, 2.0], name="w")
    b = tf.Variable(3.0, name="b")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver({"old/weights": w, "old/bias": b}).save(session, str(tmp_path / "model.ckpt"))
        assert {name for name, _ in tf.train.list_variables(path)} == {"old/weights", "old/bias"}
        session.run([w.assign([0.0, 0.0]), b.assign(0.0)])
        tf.train.Saver({"old/weights": w}).restore(session, path)
        np.testing.assert_array_equal(session.run(w), [1, 2])
        assert session.run(b) == 0


def test_simple_save_and_load(tmp_path):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.identity(tf.matmul(x, tf.Variable([[1.0], [2.0]], name="w")), name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
    with pytest.raises(AssertionError, match="already exists"):
        tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
    with tf.Session(graph=tf.Graph()) as session:
        made = tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "model"))
        assert made.signature_def["serving_default"].outputs["y"].name == "y:0"
        assert session.run("y:0", {"x:0": [[1.0, 1.0]]}) == 3


def test_queues_are_data_sets():
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    row, number = tf.train.slice_input_producer([rows, np.arange(6)], shuffle=False, num_epochs=2)
    doubled = row * 2.0
    xs, numbers = tf.train.batch([doubled, number], batch_size=4)
    assert xs.shape.as_list() == [4, 2]
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
        np.testing.assert_array_equal(session.run(xs), 2 * rows[:4])
        np.testing.assert_array_equal(session.run([xs, numbers])[1], [4, 5, 0, 1])
        session.run(xs)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(xs)
        coordinator.request_stop()
        coordinator.join(threads)


def test_shuffled_queue_of_lines(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text("".join(f"{10 * i + j}\n" for j in range(5)))
    queue = tf.train.string_input_producer(
        [str(tmp_path / "0.csv"), str(tmp_path / "1.csv")], num_epochs=1, shuffle=False
    )
    _, line = tf.TextLineReader().read(queue)
    number = tf.string_to_number(line)
    batch = tf.train.shuffle_batch([number], 5, capacity=20, min_after_dequeue=10, seed=3)
    with tf.Session() as session:
        drawn = np.concatenate([session.run(batch), session.run(batch)]).ravel()
    assert sorted(drawn) == [*range(5), *range(10, 15)]


@pytest.mark.parametrize("scheme", ["", "mem://test/"])
def test_gfile(tmp_path, scheme):
    folder = scheme + "a" if scheme else str(tmp_path / "a")
    tf.gfile.MakeDirs(folder)
    with tf.gfile.GFile(f"{folder}/x.txt", "w") as file:
        file.write("first\nsecond\n")
    assert tf.gfile.Exists(f"{folder}/x.txt") and not tf.gfile.Exists(f"{folder}/y.txt")
    with tf.gfile.Open(f"{folder}/x.txt") as file:
        assert file.readline() == "first\n" and list(file) == ["second\n"]
    assert tf.gfile.ListDirectory(folder) == ["x.txt"] and tf.gfile.IsDirectory(folder)
    assert tf.gfile.Glob(f"{folder}/*.txt") == [f"{folder}/x.txt"]
    assert tf.gfile.Stat(f"{folder}/x.txt").length == 13
    tf.gfile.Copy(f"{folder}/x.txt", f"{folder}/y.txt")
    tf.gfile.Rename(f"{folder}/y.txt", f"{folder}/z.txt")
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Copy(f"{folder}/x.txt", f"{folder}/z.txt")
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.GFile(f"{folder}/none").read()
    assert [names for _, _, names in tf.gfile.Walk(folder)] == [["x.txt", "z.txt"]]
    tf.gfile.DeleteRecursively(folder)
    assert not tf.gfile.Exists(f"{folder}/x.txt")


def test_summaries_of_the_program(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), 3)
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"loss" in data


def test_contrib_layers_have_their_names():
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    net = tf.contrib.layers.conv2d(x, 4, 3, normalizer_fn=tf.contrib.layers.batch_norm)
    net = tf.contrib.layers.flatten(tf.contrib.layers.max_pool2d(net, 2))
    tf.contrib.layers.fully_connected(net, 3, activation_fn=None)
    names = [v.name for v in tf.trainable_variables()]
    assert names == ["Conv/weights:0", "Conv/BatchNorm/beta:0", "fully_connected/weights:0", "fully_connected/biases:0"]
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS)


def test_custom_getter_gives_another_value():
    def halved(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 0.5

    with tf.variable_scope("s", custom_getter=halved):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(v + 0.0), [0.5, 0.5])


def test_bfloat16_scope_keeps_variables_wide():
    x = tf.cast(tf.placeholder(tf.float32, [2, 3]), tf.bfloat16)
    with tf.contrib.tpu.bfloat16_scope():
        y = tf.layers.dense(x, 4)
    assert y.dtype == tf.bfloat16
    assert {v.dtype.name for v in tf.trainable_variables()} == {"float32"}


def test_recompute_grad():
    x = tf.constant([1.0, 2.0])
    y = tf.contrib.layers.recompute_grad(lambda t: tf.square(t) * 3.0)(x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tf.gradients(y, x)[0]), [6, 12])


def test_files_take_texts_and_bytes_in_any_mode(tmp_path):
    for mode in ("w", "wb"):
        path = str(tmp_path / mode)
        with tf.gfile.Open(path, mode) as file:
            file.write("one ")
            file.write("zwölf".encode())
        with codecs.getwriter("utf-8")(tf.gfile.GFile(path, mode.replace("w", "a"))) as writer:
            writer.write(" drei")
        with open(path, encoding="utf-8") as file:
            assert file.read() == "one zwölf drei"
