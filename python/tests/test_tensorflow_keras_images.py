"""tf.keras.preprocessing.image, and pictures of models."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf
from systole_tpu.tensorflow import keras

image = keras.preprocessing.image


@pytest.fixture(autouse=True)
def _clear():
    keras.backend.clear_session()


def digits(count=20):
    rng = np.random.RandomState(3)
    y = rng.randint(0, 2, count)
    return (rng.rand(count, 8, 8, 1) + y[:, None, None, None]).astype(np.float32), y.astype(np.float32)


def test_batches_of_arrays():
    x, y = digits()
    batches = image.ImageDataGenerator(rescale=2.0).flow(x, y, batch_size=8, shuffle=False)
    assert (len(batches), batches.n) == (3, 20)
    first, targets = batches[0]
    np.testing.assert_allclose(first, 2 * x[:8], rtol=1e-6)
    np.testing.assert_array_equal(targets, y[:8])
    assert batches[2][0].shape == (4, 8, 8, 1)
    assert next(iter(batches))[0].shape == (8, 8, 8, 1)
    only = image.ImageDataGenerator().flow(x, batch_size=5, shuffle=False)
    np.testing.assert_array_equal(only.next(), x[:5])
    with pytest.raises(ValueError, match="has length 3"):
        batches[3]


def test_images_are_changed():
    x, _ = digits(4)
    flip = image.ImageDataGenerator(horizontal_flip=True, vertical_flip=False)
    seen = [flip.random_transform(x[0], seed) for seed in range(8)]
    assert any(np.array_equal(s, x[0][:, ::-1]) for s in seen)
    assert any(np.array_equal(s, x[0]) for s in seen)
    negative = image.ImageDataGenerator(preprocessing_function=lambda one: -one)
    np.testing.assert_array_equal(negative.standardize(x[1]), -x[1])
    ranges = image.ImageDataGenerator(
        rotation_range=20, width_shift_range=0.2, height_shift_range=2, zoom_range=[0.9, 1.1], shear_range=0.1,
        brightness_range=(0.5, 1.5), channel_shift_range=0.1, fill_mode="constant", cval=0.5,
    )  # fmt: skip
    changed = ranges.random_transform(x[2], 5)
    assert changed.shape == x[2].shape
    assert not np.array_equal(changed, x[2])
    np.testing.assert_array_equal(changed, ranges.random_transform(x[2], 5))


def test_statistics_of_a_data_set():
    x, _ = digits()
    generator = image.ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    generator.fit(x)
    np.testing.assert_allclose(np.ravel(generator.mean), x.mean((0, 1, 2)), rtol=1e-5)
    batch = generator.flow(x, batch_size=20, shuffle=False).next()
    assert abs(batch.mean()) < 1e-4
    assert batch.std() == pytest.approx(1, rel=1e-3)


def test_models_train_on_them():
    x, y = digits(64)
    model = keras.Sequential([keras.layers.Flatten(input_shape=(8, 8, 1)), keras.layers.Dense(1, "sigmoid")])
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", ["accuracy"])
    batches = image.ImageDataGenerator(width_shift_range=0.1, horizontal_flip=True).flow(x, y, batch_size=16)
    history = model.fit_generator(batches, epochs=30, verbose=0, validation_data=(x, y), workers=4)
    assert history.history["val_acc"][-1] > 0.95
    assert model.evaluate(x, y, verbose=0)[1] > 0.95


def test_batches_of_a_folder(tmp_path):
    with tf.Session() as session:
        for name, value in (("cats", 10), ("dogs", 200)):
            (tmp_path / name).mkdir()
            for i in range(3):
                picture = session.run(tf.image.encode_png(np.full((4, 6, 3), value, np.uint8)))
                (tmp_path / name / f"{i}.png").write_bytes(picture)
    generator = image.ImageDataGenerator()
    batches = generator.flow_from_directory(
        tmp_path, target_size=(5, 5), batch_size=6, class_mode="binary", shuffle=False
    )
    assert batches.class_indices == {"cats": 0, "dogs": 1}
    assert batches.classes.tolist() == [0, 0, 0, 1, 1, 1]
    assert batches.filenames[0] == "cats/0.png"
    x, y = batches.next()
    assert x.shape == (6, 5, 5, 3)
    assert y.tolist() == [0, 0, 0, 1, 1, 1]
    assert x[0].max() == 10
    assert x[5].min() == 200
    assert generator.flow_from_directory(tmp_path, class_mode=None, batch_size=2).next().shape == (2, 256, 256, 3)
    loaded = image.load_img(tmp_path / "dogs" / "1.png", target_size=(2, 3))
    assert image.img_to_array(loaded).tolist() == np.full((2, 3, 3), 200.0).tolist()


def test_arguments():
    with pytest.raises(TypeError, match="unexpected keyword argument 'spin'"):
        image.ImageDataGenerator(spin=3)
    with pytest.raises(NotImplementedError, match="data_format, expected 'channels_last'"):
        image.ImageDataGenerator(data_format="channels_first")
    with pytest.raises(ValueError, match="fill_mode"):
        image.ImageDataGenerator(fill_mode="mirror")
    with pytest.raises(TypeError, match="expected a number of pixels"):
        image.ImageDataGenerator(width_shift_range=None, height_shift_range="wide")


def test_pictures_of_models(tmp_path):
    model = keras.Sequential(
        [keras.layers.Dense(2, input_shape=(3,), name="first"), keras.layers.Dense(1, name="last")]
    )
    keras.utils.plot_model(model, str(tmp_path / "model.dot"), show_shapes=True)
    text = (tmp_path / "model.dot").read_text()
    assert "first" in text
    assert "(None, 2)" in text
    with pytest.raises(ValueError, match="to_file"):
        keras.utils.plot_model(model, str(tmp_path / "model.txt"))
    if shutil.which("dot"):
        keras.utils.plot_model(model, to_file=str(tmp_path / "model.png"))
        assert (tmp_path / "model.png").read_bytes().startswith(b"\x89PNG")
