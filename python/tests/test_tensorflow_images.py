"""tf.image: light, boxes, files and sizes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def run(*fetches, feeds=None):
    with tf.Session() as session:
        values = session.run(list(fetches), feeds)
    return values[0] if len(values) == 1 else values


def test_methods_of_resizing():
    x = tf.constant(np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1))
    methods = tf.image.ResizeMethod
    bicubic = tf.image.resize_images(x, [5, 5], method=methods.BICUBIC)
    nearest = tf.image.resize_images(x, [3, 4], method=methods.NEAREST_NEIGHBOR)
    same, also = run(bicubic, tf.image.resize_bicubic(x, [5, 5]))
    np.testing.assert_array_equal(same, also)
    np.testing.assert_array_equal(run(nearest)[0, :, :, 0], np.arange(12).reshape(3, 4))
    with pytest.raises(ValueError, match="not implemented"):
        tf.image.resize_images(x, [5, 5], method=methods.AREA)


def test_jpeg_files_are_cut(tmp_path):
    image = np.tile(np.arange(0, 240, 10, dtype=np.uint8)[None, :, None], (16, 1, 3))
    data = run(tf.image.encode_jpeg(image))
    contents = tf.placeholder(tf.string, [])
    shape = tf.image.extract_jpeg_shape(contents)
    part = tf.image.decode_and_crop_jpeg(contents, [2, 3, 8, 5], channels=3)
    whole = tf.image.decode_jpeg(contents, channels=3)
    sizes, cut, full = run(shape, part, whole, feeds={contents: data})
    assert sizes.tolist() == [16, 24, 3]
    np.testing.assert_array_equal(cut, full[2:10, 3:8])


def test_random_light_and_boxes():
    image = tf.constant(np.random.RandomState(0).rand(6, 8, 3).astype(np.float32))
    changed = [
        tf.image.random_brightness(image, 0.2),
        tf.image.random_contrast(image, 0.5, 1.5),
        tf.image.random_hue(image, 0.2),
        tf.image.random_saturation(image, 0.5, 1.5, seed=3),
    ]
    begin, size, box = tf.image.sample_distorted_bounding_box(
        tf.shape(image), tf.constant([[[0.0, 0.0, 1.0, 1.0]]]), area_range=[0.3, 0.8], max_attempts=20
    )
    with tf.Session() as session:
        assert all(v.shape == (6, 8, 3) for v in session.run(changed))
        for _ in range(5):
            b, s, edges = session.run([begin, size, box])
            assert s[2] == -1 and 0.25 * 48 <= s[0] * s[1] <= 48
            np.testing.assert_allclose(edges[0, 0], [b[0] / 6, b[1] / 8, (b[0] + s[0]) / 6, (b[1] + s[1]) / 8], 1e-6)


def test_boxes_without_overlaps():
    boxes = tf.constant([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [3, 3, 2, 2]], tf.float32)
    scores = tf.constant([0.8, 0.9, 0.3, 0.6])
    suppress = tf.image.non_max_suppression_padded
    chosen, count = suppress(boxes, scores, 5, pad_to_max_output_size=True)
    strict, fewer = suppress(boxes, scores, 2, score_threshold=0.5, pad_to_max_output_size=True)
    got = run(chosen, count, strict, fewer)
    assert [v.tolist() for v in got] == [[1, 3, 2, 0, 0], 3, [1, 3], 2]
    crops = tf.image.crop_and_resize(tf.ones([1, 4, 4, 2]), boxes, box_ind=[0, 0, 0, 0], crop_size=[3, 3])
    assert crops.shape.as_list() == [4, 3, 3, 2] and run(crops)[2].max() == 0
    with pytest.raises(NotImplementedError, match="pad_to_max_output_size"):
        suppress(boxes, scores, 5)


def test_lines_of_csv():
    lines = tf.constant(["1,2.5,red", ",,blue"])
    a, b, c = tf.decode_csv(lines, [[7], [0.5], [""]])
    (second,) = tf.decode_csv(lines, [tf.constant([1.0])], select_cols=[1])
    got = run(a, b, c, second)
    assert got[0].tolist() == [1, 7] and got[1].tolist() == [2.5, 0.5] and got[3].tolist() == [2.5, 1.0]
    assert got[2].tolist() == [b"red", b"blue"] and got[0].dtype == np.int32


def test_positions():
    x = tf.constant(np.arange(24).reshape(2, 3, 4))
    picked = tf.gather_nd(x, [[0, 1, 2], [1, 2, 3]])
    scattered = tf.scatter_nd([[0], [2]], tf.constant([5, 7]), [4])
    part = tf.strided_slice(x, [0, 0, 1], [2, 2, 4], [1, 1, 2])
    got = run(picked, scattered, part, x[:, tf.newaxis])
    assert got[0].tolist() == [6, 23] and got[1].tolist() == [5, 0, 7, 0] and got[3].shape == (2, 1, 3, 4)
    np.testing.assert_array_equal(got[2], np.arange(24).reshape(2, 3, 4)[0:2, 0:2, 1:4:2])


def test_records_of_any_length():
    features = tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0, 3.0]))})
    record = tf.train.Example(features=features).SerializeToString()
    parsed = tf.parse_single_example(record, {"x": tf.VarLenFeature(tf.float32), "y": tf.VarLenFeature(tf.int64)})
    x, values, y = run(tf.sparse_tensor_to_dense(parsed["x"]), parsed["x"].values, tf.sparse.to_dense(parsed["y"]))
    assert x.tolist() == values.tolist() == [1.0, 2.0, 3.0] and y.tolist() == []
    dense = tf.sparse_tensor_to_dense(tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3]), default_value=-1)
    assert run(dense).tolist() == [[-1, 5, -1], [6, -1, -1]]


def test_moments_in_parts():
    x = tf.constant(np.random.RandomState(0).rand(4, 3).astype(np.float32))
    count, mean, variance, shift = tf.nn.sufficient_statistics(x, [0], shift=0.5)
    normal = tf.nn.normalize_moments(count, mean, variance, shift)
    weighted = tf.nn.weighted_moments(x, [0], tf.ones([4, 1]))
    expected, first, second = run(tf.nn.moments(x, [0]), normal, weighted)
    np.testing.assert_allclose(first, expected, rtol=1e-5)
    np.testing.assert_allclose(second, expected, rtol=1e-5)


def test_items_of_examples():
    decoder = tf.contrib.slim.tfexample_decoder
    picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    with tf.Session() as session:
        encoded = session.run(tf.image.encode_png(picture))
    example = tf.train.Example()
    example.features.feature["image/encoded"].bytes_list.value.append(encoded)
    example.features.feature["image/format"].bytes_list.value.append(b"png")
    for i, edge in enumerate(("ymin", "xmin", "ymax", "xmax")):
        example.features.feature[f"box/{edge}"].float_list.value.extend([0.1 * i, 0.5 + 0.1 * i])
    example.features.feature["labels"].int64_list.value.extend([3, 4])
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string),
        "image/format": tf.FixedLenFeature((), tf.string),
        "labels": tf.VarLenFeature(tf.int64),
        **{f"box/{edge}": tf.VarLenFeature(tf.float32) for edge in ("ymin", "xmin", "ymax", "xmax")},
    }
    items = {
        "image": decoder.Image(),
        "boxes": decoder.BoundingBox(prefix="box/"),
        "labels": decoder.Tensor("labels"),
        "pair": decoder.Tensor("labels", shape=[1, 2]),
        "count": decoder.ItemHandlerCallback("labels", lambda found: tf.size(found["labels"].values)),
    }
    made = decoder.TFExampleDecoder(features, items)
    assert made.list_items() == list(items)
    names = ["boxes", "image", "labels", "pair", "count"]
    with tf.Session() as session:
        boxes, image, labels, pair, count = session.run(made.decode(tf.constant(example.SerializeToString()), names))
    np.testing.assert_allclose(boxes, [[0.0, 0.1, 0.2, 0.3], [0.5, 0.6, 0.7, 0.8]], atol=1e-6)
    np.testing.assert_array_equal(image, picture)
    assert (labels.tolist(), pair.tolist(), count) == ([3, 4], [[3, 4]], 2)
