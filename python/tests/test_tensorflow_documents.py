"""The listings of the five documents, taken out of them and run; completed only where they leave something out."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
from documents import ROOT, document, listings, stand_ins
from systole_tpu import _hook

TPU = "v2-8"


@pytest.fixture(autouse=True)
def _tensorflow(monkeypatch, tmp_path):
    _hook.install()
    import tensorflow as tf

    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    stand_ins(monkeypatch)
    monkeypatch.chdir(tmp_path)


def run(text: str, **names: object) -> dict[str, object]:
    scope = {"__name__": "__main__", **names}
    exec(compile(text, "<document>", "exec"), scope)
    return scope


def last_accuracy(output: str) -> float:
    return float(re.findall(r"test accuracy = ([\d.]+)%", output)[-1])


def test_the_iris_program(capsys):
    run(listings(0)[0])
    assert last_accuracy(capsys.readouterr().out) > 85


def test_the_iris_program_on_a_tpu(capsys, monkeypatch):
    monkeypatch.setenv("SYSTOLE_TPU", TPU)
    program, resolver, session, optimizer, _, shards = listings(0)
    begin, end = [line.strip() for line in session.splitlines() if "sess.run" in line]
    changed = program.replace(
        "with tf.Session() as sess:\n", f"with tf.Session(tpu_cluster) as sess:\n        {begin}\n"
    )
    changed = changed.replace("range(100)", "range(30)")  # a step on eight cores takes longer
    changed = changed.replace("\nif __name__", f"        {end}\n\nif __name__")
    update = re.search(r"    updates = .*\n", changed)[0]
    changed = changed.replace(update, "    " + " ".join(optimizer.split()) + "\n")
    run("import tensorflow as tf\n" + resolver + shards + changed)
    assert last_accuracy(capsys.readouterr().out) > 60


def test_the_listing_of_the_estimator_is_our_example():
    """The document has lost its line breaks: the example has them, and else only what the formatter changes."""

    def plain(text):
        return re.sub(r",([)}])", r"\1", "".join(text.split())).replace("1.0/", "1./")

    flat = " ".join(document(1).split())
    listing = flat[flat.index("def model_fn(") : flat.index("max_steps=FLAGS.train_steps)")]
    example = (ROOT / "examples/python/mnist_tpu_estimator.py").read_text(encoding="utf-8")
    begin = example.index("def model_fn(")
    end = example.index("max_steps=FLAGS.train_steps)")
    assert plain(example[begin:end]) == plain(listing)


def test_notes_of_a_reader():
    import tensorflow as tf

    config = tf.contrib.tpu.RunConfig()
    text = document(2)
    wanted = re.findall(r"'([a-z]\w*)'", text[text.index("_[:2] != '__'") : text.index("In [45]")])
    assert len(wanted) > 15
    assert [name for name in wanted if not hasattr(config, name)] == []
    assert repr(config.tpu_config).startswith("TPUConfig(iterations_per_loop=2, num_shards=None")
    estimator, optimizer, metrics, tpu_metrics = listings(2)
    scope = _names()
    # The listing lacks a comma.
    run(estimator.replace("RunConfig()\n", "RunConfig(),\n"), **scope)
    run(optimizer, learning_rate=0.1, **scope)
    for listing in (metrics, tpu_metrics):
        _spec_of(listing, scope)


def _names() -> dict[str, object]:
    import tensorflow as tf

    def my_model_fn(features, labels, mode, params):
        del params
        logits = tf.layers.dense(features, 2)
        loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)

    class FLAGS:
        use_tpu = True

    return {"tf": tf, "my_model_fn": my_model_fn, "FLAGS": FLAGS}


def _spec_of(listing: str, scope: dict[str, object]) -> None:
    """A listing that ends with `return ...Spec(...)`, as a function."""
    import tensorflow as tf

    body = listing.replace("...", "mode='eval', loss=loss,")
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    made = run(f"def model_fn(labels, predictions, loss):\n{lines}", **scope)
    labels, predictions = tf.constant([0, 1, 1]), tf.constant([0, 1, 0])
    spec = made["model_fn"](labels, predictions, tf.constant(1.0))
    assert (spec.eval_metric_ops or spec.eval_metrics) and spec.mode == "eval"


def test_the_guide_to_tpus(tmp_path):
    import tensorflow as tf

    blocks = listings(3)
    scope = _names()
    plain, tpu, _, config, with_config, optimizer, params, running, metrics, tpu_metrics, input_fn = blocks[:11]
    unknown, batches, dropped = blocks[11:14]
    run(plain, **scope)
    run(tpu.replace("RunConfig()\n", "RunConfig(),\n"), **scope)
    made = run(config, **scope)
    assert made["my_tpu_run_config"].tpu_config.num_shards == 8
    settings = {**scope, "FLAGS": made["FLAGS"], "my_tpu_run_config": made["my_tpu_run_config"]}
    estimator = run(with_config, **settings)["my_tpu_estimator"]
    run(optimizer, learning_rate=0.1, **settings)
    made = run(params, **settings, optimizer=tf.train.AdamOptimizer())
    assert isinstance(made["my_tpu_estimator"].params["optimizer"], tf.train.AdamOptimizer)
    run(running, labels=tf.constant([1]), predictions=tf.constant([1]), **scope)
    for listing in (metrics, tpu_metrics):
        _spec_of(listing, scope)
    run(input_fn)
    _session_of(unknown, scope)
    # The guide reads another key than it writes.
    assert _session_of(batches.replace("'batch-size'", "'batch_size'"), scope)["ds"].output_shapes.as_list() == [
        None,
        3,
    ]
    assert _session_of(dropped.replace("'batch-size'", "'batch_size'"), scope)["ds"].output_shapes.as_list() == [32, 3]

    def batch():
        return tf.data.Dataset.from_tensors((np.ones((4, 3), np.float32), [0, 1, 1, 0])).repeat()

    estimator.train(lambda params: batch(), max_steps=3)
    assert estimator.get_variable_value("global_step") == 3


def _session_of(listing: str, scope: dict[str, object]) -> dict[str, object]:
    """The lines after the prompts of an interactive listing."""
    return run("\n".join(line[4:] for line in listing.splitlines() if line.startswith((">>> ", "... "))), **scope)


def test_the_colab_program(monkeypatch, tmp_path, capsys):
    """On a few reviews: those of the data set take minutes an epoch."""
    rng = np.random.RandomState(0)

    def reviews(count):
        labels = rng.randint(0, 2, count)
        texts = np.empty(count, dtype=object)
        texts[:] = [[1, *(rng.randint(10, 60, rng.randint(5, 40)) + 1000 * label).tolist()] for label in labels]
        return texts, labels

    (x_train, y_train), (x_test, y_test) = reviews(64), reviews(30)
    (tmp_path / "keras" / "datasets").mkdir(parents=True)
    np.savez(
        tmp_path / "keras" / "datasets" / "imdb.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test
    )
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    monkeypatch.setenv("SYSTOLE_TPU", TPU)
    monkeypatch.setenv("COLAB_TPU_ADDR", "10.0.0.2:8470")
    program = [
        b for b in listings(4) if "grpc://address" not in b and "25000/25000" not in b and "AssertionError" not in b
    ]
    assert len(program) == 14
    text = "\n".join(program).replace("epochs = 20", "epochs = 3")
    scope = run(text)
    output = capsys.readouterr().out
    assert "Found TPU at: grpc://10.0.0.2:8470" in output and "Embedding" in output
    assert scope["y_pred"].shape == (30, 1)
    assert (tmp_path / "tpu_model.h5").exists()
