#!/usr/bin/env python3
"""Makes the golden files of TensorFlow 2.15, its Keras and NumPy 1.26, and what they hold by their own readers.

Run it with the Python of build/clients/keras2 (tools/install-clients.sh keras2).
"""

import hashlib
import os
import pathlib
import random
from collections import Counter
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import golden
import h5py
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from hdf5_contents import hdf5_contents
from keras_files import keras_contents, make_models
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import saved_model_pb2

v1 = tf.compat.v1


# TFRecord


def example(i: int) -> tf.train.Example:
    features = {
        "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, -i, 1 << 40])),
        "real": tf.train.Feature(float_list=tf.train.FloatList(value=[i / 8, -1.5])),
        "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[f"row {i}".encode(), b""])),
        "empty": tf.train.Feature(),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


def sequence_example(i: int) -> tf.train.SequenceExample:
    steps = [tf.train.Feature(float_list=tf.train.FloatList(value=[k / 4])) for k in range(2 + i % 3)]
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={"id": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}),
        feature_lists=tf.train.FeatureLists(feature_list={"steps": tf.train.FeatureList(feature=steps)}),
    )


def feature_text(feature: tf.train.Feature) -> str:
    kind = feature.WhichOneof("kind")
    if kind is None:
        return "empty"
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        return f"bytes[{len(values)}]({len(values[0])}B)"
    return f"{kind.removesuffix('_list')}[{len(values)}]"


def record_contents(path: pathlib.Path, compression: str, proto: str) -> dict[str, Any]:
    payloads = [x.numpy() for x in tf.data.TFRecordDataset(str(path), compression.upper().replace("NONE", ""))]
    contents: dict[str, Any] = {
        "compression": compression,
        "first_len": len(payloads[0]),
        "last_len": len(payloads[-1]),
        "n": len(payloads),
        "proto": proto,
        "sha256_of_concatenated_payloads": hashlib.sha256(b"".join(payloads)).hexdigest(),
        "uncompressed_bytes": sum(len(p) + 16 for p in payloads),
    }
    if proto == "SequenceExample":
        first = tf.train.SequenceExample.FromString(payloads[0])
        contents["first"] = {
            "ctx": {key: feature_text(value) for key, value in first.context.feature.items()},
            "fl": {key: len(value.feature) for key, value in first.feature_lists.feature_list.items()},
        }
        return contents
    counts: Counter[str] = Counter()
    sums: dict[str, float] = {}
    for payload in payloads:
        for key, feature in tf.train.Example.FromString(payload).features.feature.items():
            kind = feature.WhichOneof("kind")
            values = getattr(feature, kind).value if kind else []
            counts[key] += len(values)
            if kind in ("int64_list", "float_list"):
                sums[key] = sums.get(key, 0.0) + float(sum(values))
    first_features = tf.train.Example.FromString(payloads[0]).features.feature
    contents["first"] = {key: feature_text(value) for key, value in first_features.items()}
    contents["value_counts"] = dict(counts)
    contents["value_sums"] = sums
    return contents


def make_records() -> dict[str, Any]:
    folder = golden.fresh("tfrecord")
    contents = {}
    for compression in ("none", "gzip", "zlib"):
        for proto, make in (("Example", example), ("SequenceExample", sequence_example)):
            path = folder / f"{proto.lower()}_{compression}.tfrecord"
            options = tf.io.TFRecordOptions(compression_type=compression.upper().replace("NONE", ""))
            with tf.io.TFRecordWriter(str(path), options) as writer:
                for i in range(20):
                    writer.write(make(i).SerializeToString(deterministic=True))
            contents[golden.relative(path)] = record_contents(path, compression, proto)
    return contents


# Event files


def make_events() -> dict[str, Any]:
    folder = golden.fresh("tfevents")
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        value = v1.placeholder(tf.float32, [None], "value")
        v1.summary.scalar("mean", tf.reduce_mean(value))
        v1.summary.histogram("values", value)
        merged = v1.summary.merge_all()
        writer = v1.summary.FileWriter(str(folder / "session"), graph)
        for step in range(5):
            writer.add_summary(session.run(merged, {value: np.arange(8, dtype=np.float32) * step}), step)
        writer.add_session_log(v1.SessionLog(status=v1.SessionLog.STOP), 5)
        writer.close()
    writer2 = tf.summary.create_file_writer(str(folder / "eager"))
    with writer2.as_default():
        for step in range(3):
            tf.summary.scalar("loss", 1 / (1 + step), step)
            tf.summary.histogram("weights", np.linspace(-1, 1, 9), step)
    writer2.close()
    contents = {}
    for name in ("session", "eager"):
        (path,) = (folder / name).iterdir()
        path = path.rename(folder / name / "events.out.tfevents.1700000000.golden")
        contents[golden.relative(path)] = event_contents(path)
    return contents


def event_contents(path: pathlib.Path) -> dict[str, Any]:
    kinds: Counter[str] = Counter()
    tags: dict[str, dict[str, Any]] = {}
    first_time = None
    count = 0
    for event in v1.train.summary_iterator(str(path)):
        count += 1
        first_time = event.wall_time if first_time is None else first_time
        kinds[event.WhichOneof("what")] += 1
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            row = tags.setdefault(value.tag, {}).setdefault(
                kind,
                {"count": 0, "first_step": event.step, "kind": kind, "plugin": value.metadata.plugin_data.plugin_name},
            )
            row["count"] += 1
            row["last_step"] = event.step
            if kind == "simple_value":
                row.setdefault("first", value.simple_value)
                row["last"] = value.simple_value
            if kind == "histo":
                names = ("max", "min", "num", "sum", "sum_squares")
                row["last"] = {name: getattr(value.histo, name) for name in names}
                row["last"]["buckets"] = len(value.histo.bucket)
    return {
        "first_wall_time": first_time,
        "kinds": dict(kinds),
        "n_events": count,
        "tags": {tag: list(rows.values()) for tag, rows in tags.items()},
    }


# Checkpoints, graphs, SavedModels


def bundle_contents(prefix: pathlib.Path) -> dict[str, Any]:
    reader = tf.train.load_checkpoint(str(prefix))
    shapes = reader.get_variable_to_shape_map()
    entries = []
    for key, dtype in sorted(reader.get_variable_to_dtype_map().items()):
        values = reader.get_tensor(key)
        entry: dict[str, Any] = {
            "dtype": types_pb2.DataType.Name(dtype.as_datatype_enum),
            "key": key,
            "shape": shapes[key],
        }
        if dtype == tf.string:
            # Arrays of type S would lose zeros at the end.
            strings = [values] if isinstance(values, bytes) else np.asarray(values, object).reshape(-1).tolist()
            entry["string_len"] = [len(x) for x in strings]
        else:
            summary = golden.array_summary(values)
            entry.update({name: summary[name] for name in ("sum", "abs_sum", "first", "last") if name in summary})
        entries.append(entry)
    shards = len(list(prefix.parent.glob(prefix.name + ".data-*")))
    index = prefix.with_name(prefix.name + ".index")
    return {"block_type": golden.table_compression(index), "entries": entries, "num_shards": shards}


class Trained:
    """A regression in a graph of TensorFlow 1, after three steps of Adam."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            v1.set_random_seed(7)
            self.x = v1.placeholder(tf.float32, [None, 3], "x")
            y = v1.placeholder(tf.float32, [None, 2], "y")
            with v1.variable_scope("dense"):
                kernel = v1.get_variable("kernel", initializer=np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2))
                bias = v1.get_variable("bias", initializer=np.array([0.25, -0.5], np.float32), use_resource=True)
            hidden = v1.nn.xw_plus_b(self.x, kernel, bias)
            self.output = tf.tanh(hidden, name="output")
            loss = tf.reduce_mean(v1.squared_difference(self.output, y), name="loss")
            step = v1.train.get_or_create_global_step()
            train = v1.train.AdamOptimizer(0.1).minimize(loss, step)
            v1.get_variable("words", initializer=tf.constant(["a", "bcd"]), trainable=False)
            v1.get_variable("flags", initializer=tf.constant([True, False, True]), trainable=False)
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())
            for _ in range(3):
                self.session.run(train, {self.x: np.eye(3), y: np.ones((3, 2))})


def make_checkpoints(trained: Trained) -> dict[str, Any]:
    folder = golden.fresh("checkpoints")
    prefixes = []
    with trained.graph.as_default():
        for name, arguments in (("slots", {}), ("sharded", {"sharded": True}), ("v1", {"write_version": 1})):
            (folder / name).mkdir()
            saver = v1.train.Saver(v1.global_variables(), save_relative_paths=True, **arguments)
            for step in (3, 4) if name == "slots" else (3,):
                saver.save(trained.session, str(folder / name / "model.ckpt"), step, write_meta_graph=False)
                if name != "v1":
                    prefixes.append(folder / name / f"model.ckpt-{step}")
    # Variables on two devices are in two shards.
    (folder / "shards").mkdir()
    graph = tf.Graph()
    with graph.as_default():
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                v1.get_variable(f"w{i}", initializer=np.arange(4 + i, dtype=np.float32))
        v1.get_variable(
            "parts", [5, 3], initializer=v1.random_uniform_initializer(seed=1), partitioner=v1.fixed_size_partitioner(2)
        )
        v1.get_variable("half", initializer=np.array([1.5, -2], np.float16))
        v1.get_variable("bf16", initializer=tf.cast([1.5, -2], tf.bfloat16))
        v1.get_variable("complex", initializer=np.array([1 + 2j], np.complex64))
        with v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver(sharded=True, save_relative_paths=True).save(
                session, str(folder / "shards" / "model.ckpt"), 1, write_meta_graph=False
            )
    prefixes.append(folder / "shards" / "model.ckpt-1")
    # Object-based: the format of tf.train.Checkpoint and of Keras' save_weights.
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.train_on_batch(np.ones((4, 2)), np.zeros((4, 1)))
    prefixes.append(pathlib.Path(tf.train.Checkpoint(model=model).save(str(folder / "objects" / "ckpt"))))
    return {golden.relative(prefix): bundle_contents(prefix) for prefix in prefixes}


def graph_contents(graph_def: v1.GraphDef) -> dict[str, Any]:
    return {
        "inputs": [node.name for node in graph_def.node if node.op == "Placeholder"],
        "nodes": len(graph_def.node),
        "ops": dict(Counter(node.op for node in graph_def.node)),
        "producer": graph_def.versions.producer,
    }


def make_graphs(trained: Trained) -> dict[str, Any]:
    folder = golden.fresh("graphdef")
    definition = trained.graph.as_graph_def()
    frozen = v1.graph_util.convert_variables_to_constants(trained.session, definition, ["output"])
    contents = {}
    for name, graph_def in (("training", definition), ("frozen", frozen)):
        for suffix, text in ((".pb", False), (".pbtxt", True)):
            tf.io.write_graph(graph_def, str(folder), name + suffix, as_text=text)
            read = v1.GraphDef()
            data = (folder / (name + suffix)).read_bytes()
            read = text_format.Parse(data, read) if text else v1.GraphDef.FromString(data)
            contents[golden.relative(folder / (name + suffix))] = graph_contents(read)
    return contents


def info_json(info: Any) -> dict[str, Any]:
    shape = None if info.tensor_shape.unknown_rank else [dim.size for dim in info.tensor_shape.dim]
    return {"dtype": types_pb2.DataType.Name(info.dtype), "name": info.name, "shape": shape}


def meta_graph_contents(meta: Any) -> dict[str, Any]:
    signatures = {}
    for name, signature in meta.signature_def.items():
        signatures[name] = {
            "inputs": {key: info_json(value) for key, value in signature.inputs.items()},
            "method": signature.method_name,
            "outputs": {key: info_json(value) for key, value in signature.outputs.items()},
        }
    saver = meta.saver_def
    return {
        "collections": sorted(meta.collection_def),
        "functions": len(meta.graph_def.library.function),
        "nodes": len(meta.graph_def.node),
        "object_graph_nodes": len(meta.object_graph_def.nodes),
        "ops": dict(Counter(node.op for node in meta.graph_def.node)),
        "saver": {
            "filename": saver.filename_tensor_name,
            "restore": saver.restore_op_name,
            "save": saver.save_tensor_name,
            "sharded": saver.sharded,
            "version": saver.version,
        },
        "signatures": signatures,
        "tags": list(meta.meta_info_def.tags),
        "tf_version": meta.meta_info_def.tensorflow_version,
    }


def make_saved_models(trained: Trained) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = golden.fresh("savedmodels")
    contents, runs = {}, {}
    x = np.array([[0.5, -1, 2], [0, 1, 0.25]], np.float32)
    y = trained.session.run(trained.output, {trained.x: x})
    with trained.graph.as_default():
        signature = v1.saved_model.predict_signature_def({"x": trained.x}, {"y": trained.output})
    for name, text in (("binary", False), ("text", True)):
        builder = v1.saved_model.Builder(str(folder / name))
        with trained.graph.as_default():
            builder.add_meta_graph_and_variables(trained.session, ["serve"], {"serving_default": signature})
        builder.save(as_text=text)
        runs[f"savedmodels/{name}"] = {"inputs": {"x": golden.tensor_json(x)}, "outputs": {"y": golden.tensor_json(y)}}
    tf.keras.utils.set_random_seed(5)
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, activation="tanh", input_shape=(3,))])
    tf.saved_model.save(model, str(folder / "objects"))
    (folder / "objects" / "fingerprint.pb").unlink()
    for path in sorted(folder.glob("*/saved_model.pb*")):
        saved = saved_model_pb2.SavedModel()
        if path.suffix == ".pbtxt":
            text_format.Parse(path.read_bytes(), saved)
        else:
            saved.ParseFromString(path.read_bytes())
        meta_graphs = [meta_graph_contents(meta) for meta in saved.meta_graphs]
        contents[golden.relative(path)] = {"meta_graphs": meta_graphs, "schema": saved.saved_model_schema_version}
    return contents, runs


# NumPy and h5py


def make_numpy() -> dict[str, Any]:
    folder = golden.fresh("numpy1")
    contents = {}
    dtypes = "?bBhHiIqQefdFD"
    arrays = {
        f"a{i}_{np.dtype(c).name}": (np.arange(6).reshape(2, 3) - (c in "bhiqefdFD")).astype(c)
        for i, c in enumerate(dtypes)
    }
    arrays["fortran"] = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    arrays["big_endian"] = np.arange(5, dtype=">f4")
    arrays["empty"] = np.zeros((0, 3), np.int32)
    arrays["scalar"] = np.float64(2.5)
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    for name in ("stored.npz", "deflated.npz"):
        with np.load(folder / name) as file:
            contents[f"numpy1/{name}"] = {key: golden.array_summary(file[key]) for key in file.files}
    for version in ((1, 0), (2, 0), (3, 0)):
        path = folder / f"version{version[0]}.npy"
        with path.open("wb") as stream:
            np.lib.format.write_array(stream, np.arange(12, dtype=np.int16).reshape(3, 4), version)
        contents[golden.relative(path)] = {"": golden.array_summary(np.load(path))}
    return contents


def make_hdf5() -> dict[str, Any]:
    folder = golden.fresh("hdf5")
    contents = {}
    for version in ("earliest", "latest"):
        path = folder / f"h5py_{version}.h5"
        with h5py.File(path, "w", libver=version) as file:
            for code in "bBhHiIqQefd":
                file[f"types/{np.dtype(code).name}"] = (np.arange(6) - (code in "bhiqefd")).astype(code)
            values = np.arange(600, dtype=np.float32).reshape(20, 30)
            file.create_dataset("chunked", data=values, chunks=(8, 7))
            file.create_dataset("deflated", data=values, chunks=(8, 7), compression="gzip", shuffle=True)
            file.create_dataset("checked", data=values, chunks=(8, 7), fletcher32=True)
            file.create_dataset("big_endian", data=np.arange(5, dtype=">f8"))
            file.create_dataset("scalar", data=np.float32(1.5))
            file["group/deep/values"] = np.arange(3)
            file["group"].attrs["names"] = np.array([b"one", b"three"])
        if version == "earliest":  # our reader refuses the latest
            contents[golden.relative(path)] = hdf5_contents(path)
    return contents


def main() -> None:
    random.seed(0)
    np.random.seed(0)
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    trained = Trained()
    saved_models, runs = make_saved_models(trained)
    checkpoints = make_checkpoints(trained)
    for path in golden.FOLDER.glob("savedmodels/*/variables/variables.index"):
        checkpoints[golden.relative(path.with_suffix(""))] = bundle_contents(path.with_suffix(""))
    make_models(golden.fresh("keras2"), [".h5", ".keras"])
    golden.record(
        {
            "tfrecord": make_records(),
            "tfevents": make_events(),
            "bundles": checkpoints,
            "graphs": make_graphs(trained),
            "saved_models": saved_models,
            "saved_model_runs": runs,
            "numpy": make_numpy(),
            "keras_h5": {
                **make_hdf5(),
                **{f"keras2/{p.name}": hdf5_contents(p) for p in sorted((golden.FOLDER / "keras2").glob("*.h5"))},
            },
            "keras_models": keras_contents(golden.FOLDER / "keras2"),
        }
    )


if __name__ == "__main__":
    main()
