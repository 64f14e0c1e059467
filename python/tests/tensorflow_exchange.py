"""Files that Systole and TensorFlow write and read.

usage: tensorflow_exchange.py write FOLDER     trains a model for 10 steps, and writes a checkpoint, a SavedModel, an
                                               event file and records of examples
       tensorflow_exchange.py read FOLDER      prints what those files say, as JSON
"""

from __future__ import annotations

import glob
import json
import os
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tensorflow_programs as programs

INPUTS = np.linspace(-1, 1, 3 * 64, dtype=np.float32).reshape(3, 64)


def write(folder, model="mlp", optimizer="adam"):
    """Writes the files, and returns what read() is to find."""
    program = programs.Program(model, optimizer)
    value = tf.placeholder(tf.float32, [], name="value")
    summary = tf.summary.scalar("loss", value)
    with tf.Session() as session, tf.summary.FileWriter(os.path.join(folder, "events"), session.graph) as events:
        program.initialize(session)
        losses = program.train(session, 10)
        for step, number in enumerate(losses):
            events.add_summary(session.run(summary, {value: number}), step)
        tf.train.Saver().save(session, os.path.join(folder, "model.ckpt"), global_step=10)
        tf.saved_model.simple_save(session, os.path.join(folder, "saved"), {"x": program.x}, {"y": program.logits})
        logits = session.run(program.logits, {program.x: INPUTS})
        after = program.train(session, 10)
    with tf.python_io.TFRecordWriter(os.path.join(folder, "data.tfrecord")) as records:
        for i in range(3):
            features = {
                "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, -i])),
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i / 2, 1.5])),
                "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"n%d" % i])),
            }
            records.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    return {"losses": losses, "after": after, "logits": logits.tolist(), "records": [[i, -i] for i in range(3)]}


def _losses_after(folder, model, optimizer):
    """The losses of 10 steps more than the checkpoint has seen."""
    program = programs.Program(model, optimizer)
    with tf.Session() as session:
        program.initialize(session)
        program.skip(10)
        tf.train.Saver().restore(session, tf.train.latest_checkpoint(folder))
        return program.train(session, 10)


def _logits(folder):
    tf.reset_default_graph()
    with tf.Session(graph=tf.Graph()) as session:
        found = tf.saved_model.loader.load(session, ["serve"], os.path.join(folder, "saved"))
        signature = found.signature_def["serving_default"]
        return session.run(signature.outputs["y"].name, {signature.inputs["x"].name: INPUTS}).tolist()


def _events(folder):
    losses = []
    (path,) = glob.glob(os.path.join(folder, "events", "events.out.tfevents.*"))
    for event in tf.train.summary_iterator(path):
        for value in event.summary.value:
            assert (event.step, value.tag) == (len(losses), "loss"), (event.step, value.tag)
            losses.append(value.simple_value)
    return losses


def _records(folder):
    found = []
    for i, record in enumerate(tf.python_io.tf_record_iterator(os.path.join(folder, "data.tfrecord"))):
        feature = tf.train.Example.FromString(record).features.feature
        assert list(feature["name"].bytes_list.value) == [b"n%d" % i]
        assert list(feature["x"].float_list.value) == [i / 2, 1.5]
        found.append(list(feature["id"].int64_list.value))
    return found


def read(folder, model="mlp", optimizer="adam"):
    return {
        "losses": _events(folder), "after": _losses_after(folder, model, optimizer), "logits": _logits(folder),
        "records": _records(folder),
    }  # fmt: skip


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    print(json.dumps({"write": write, "read": read}[command](*arguments)))
    sys.stdout.flush()
