"""Models that exercise what Keras's files can hold. Each is a function of the keras package: model, inputs, targets.
Compiled, with the same numbers in both versions of Keras but for initial weights."""
import numpy as np

KERAS2, KERAS3 = (2,), (3,)
MODELS = {}


def model(function=None, versions=KERAS2 + KERAS3):
    if function is None:
        return lambda f: model(f, versions)
    MODELS[function.__name__] = (function, versions)
    return function


def numbers(*shape):
    return np.random.RandomState(0).uniform(-1, 1, shape).astype("float32")


def classes(rows, count):
    return np.eye(count, dtype="float32")[np.arange(rows) % count]


def ids(rows, length, count=10):
    return np.random.RandomState(1).randint(1, count, (rows, length)).astype("int32")


def mlp(k, optimizer="adam", loss="mse", metrics=("mae",), outputs=1, activation=None, y=None, **hidden):
    m = k.Sequential([k.Input((4,)), k.layers.Dense(5, activation="tanh", **hidden),
                      k.layers.Dense(outputs, activation=activation)])
    m.compile(optimizer, loss=loss, metrics=list(metrics))
    return m, [numbers(8, 4)], [numbers(8, outputs) if y is None else y]


def sequential(k, shape, *layers, optimizer="adam", x=None):
    m = k.Sequential([k.Input(shape), *layers])
    m.compile(optimizer, loss="mse")
    x = numbers(8, *shape) if x is None else x
    return m, [x], [numbers(8, *m.output_shape[1:])]


# Optimizers.
for name, arguments in {
        "sgd": {}, "sgd_nesterov": dict(momentum=0.9, nesterov=True), "rmsprop": {},
        "rmsprop_centered": dict(momentum=0.5, centered=True), "adagrad": {}, "adadelta": {}, "adam": {},
        "adam_amsgrad": dict(amsgrad=True, clipnorm=0.5), "adamax": {}, "nadam": {}}.items():
    class_name = {"sgd": "SGD", "rmsprop": "RMSprop"}.get(name.split("_")[0], name.split("_")[0].capitalize())

    def make(k, class_name=class_name, arguments=arguments):
        return mlp(k, getattr(k.optimizers, class_name)(0.01, **arguments))

    def legacy(k, class_name=class_name, arguments=arguments):
        return mlp(k, getattr(k.optimizers.legacy, class_name)(0.01, **arguments))

    def embedding(k, class_name=class_name, arguments=arguments):
        return table(k, getattr(k.optimizers, class_name)(0.1, **arguments))

    def legacy_embedding(k, class_name=class_name, arguments=arguments):
        return table(k, getattr(k.optimizers.legacy, class_name)(0.1, **arguments))

    MODELS[name] = (make, KERAS2 + KERAS3)
    MODELS["legacy_" + name] = (legacy, KERAS2)
    # Keras 3 on other backends has dense gradients alone; its numbers are those of 2.11 to 2.15.
    MODELS["embedding_" + name] = (embedding, KERAS2)
    MODELS["legacy_embedding_" + name] = (legacy_embedding, KERAS2)


def table(k, optimizer):
    m = k.Sequential([k.Input((2,), dtype="int32"), k.layers.Embedding(6, 3), k.layers.Flatten(), k.layers.Dense(1)])
    m.compile(optimizer, loss="mse")
    return m, [np.array([[1, 2], [2, 4]], "int32")], [numbers(2, 1)]


@model(versions=KERAS2)
def legacy_decay(k):
    return mlp(k, k.optimizers.legacy.SGD(0.1, decay=0.5))


@model
def by_name(k):
    return mlp(k, "adam")


@model
def inverse_time_decay(k):
    return mlp(k, k.optimizers.SGD(k.optimizers.schedules.InverseTimeDecay(0.1, 1, 0.5)))


# Losses, metrics, activations.
@model
def huber(k):
    return mlp(k, loss=k.losses.Huber(delta=0.3), y=numbers(8, 1) * 3)


@model
def cosine_similarity(k):
    return mlp(k, loss="cosine_similarity", outputs=3)


@model
def hinge(k):
    return mlp(k, loss="hinge", outputs=3, y=classes(8, 3))


@model
def squared_hinge(k):
    return mlp(k, loss="squared_hinge", outputs=3, y=classes(8, 3))


@model
def sparse_logits(k):
    return mlp(k, loss=k.losses.SparseCategoricalCrossentropy(from_logits=True), outputs=3, metrics=["accuracy"],
               y=np.arange(8, dtype="int32") % 3)


@model
def binary_logits(k):
    return mlp(k, loss=k.losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1), y=classes(8, 2)[:, :1])


@model
def categorical(k):
    return mlp(k, loss="categorical_crossentropy", outputs=3, activation="softmax", metrics=["accuracy"], y=classes(8, 3))


@model
def swish_gelu(k):
    return sequential(k, (4,), k.layers.Dense(4, activation="swish"), k.layers.Dense(4, activation="gelu"),
                      k.layers.Activation("elu"), k.layers.Dense(2, activation="softplus"))


@model
def hard_sigmoid(k):
    return sequential(k, (4,), k.layers.Dense(4, activation="hard_sigmoid"), k.layers.Dense(1))


@model
def regularizers(k):
    return mlp(k, kernel_regularizer=k.regularizers.L1L2(0.01, 0.02), bias_regularizer="l2",
               kernel_constraint=k.constraints.MaxNorm(1.0))


@model
def activity_regularizer(k):
    return mlp(k, activity_regularizer=k.regularizers.L1(0.01))


# Layers.
@model
def advanced_activations(k):
    return sequential(k, (4,), k.layers.Dense(4), k.layers.LeakyReLU(), k.layers.PReLU(), k.layers.ELU(0.5),
                      k.layers.ReLU(max_value=2.0), k.layers.Softmax())


@model
def layer_normalization(k):
    return sequential(k, (4,), k.layers.Dense(6), k.layers.LayerNormalization(), k.layers.Dropout(0.0), k.layers.Dense(1))


@model
def attention(k):
    x = k.Input((6, 4))
    y = k.layers.Attention(use_scale=True)([x, x], use_causal_mask=True)
    y = k.layers.Attention(score_mode="concat")([y, x, y])
    m = k.Model(x, k.layers.Dense(2)(y))
    m.compile("adam", loss="mse")
    return m, [numbers(8, 6, 4)], [numbers(8, 6, 2)]


@model
def multi_head_attention(k):
    x = k.Input((6, 4))
    seen = k.Input((6, 6))
    y = k.layers.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)
    y, scores = k.layers.MultiHeadAttention(2, 3, value_dim=5, use_bias=False, output_shape=7)(
        y, x, key=y, attention_mask=seen, return_attention_scores=True)
    m = k.Model([x, seen], [k.layers.Dense(2)(y), k.layers.Flatten()(scores)])
    m.compile("adam", loss="mse")
    mask = (numbers(8, 6, 6) > -0.5).astype("float32")
    return m, [numbers(8, 6, 4), mask], [numbers(8, 6, 2), numbers(8, 72)]


@model
def cnn(k):
    return sequential(k, (8, 8, 3), k.layers.Conv2D(4, 3, padding="same", activation="relu"), k.layers.BatchNormalization(),
                      k.layers.MaxPooling2D(), k.layers.Conv2D(4, (2, 2), strides=2), k.layers.AveragePooling2D(2),
                      k.layers.Flatten(), k.layers.Dense(2), optimizer="sgd")


@model
def separable(k):
    return sequential(k, (6, 6, 2), k.layers.SeparableConv2D(4, 3), k.layers.DepthwiseConv2D(2),
                      k.layers.GlobalAveragePooling2D(), k.layers.Dense(1))


@model
def transposed(k):
    return sequential(k, (3, 3, 2), k.layers.Conv2DTranspose(3, 3, strides=2, padding="same"),
                      k.layers.ZeroPadding2D(1), k.layers.Cropping2D(((1, 0), (0, 1))), k.layers.GlobalMaxPooling2D())


@model
def up_sampling_bilinear(k):
    return sequential(k, (3, 3, 2), k.layers.UpSampling2D(2, interpolation="bilinear"), k.layers.Conv2D(1, 3))


@model
def conv1d(k):
    return sequential(k, (6, 3), k.layers.Conv1D(4, 2, padding="causal", dilation_rate=2), k.layers.MaxPooling1D(2),
                      k.layers.Flatten(), k.layers.Dense(1))


@model
def conv3d(k):
    return sequential(k, (4, 4, 4, 1), k.layers.Conv3D(2, 2), k.layers.MaxPooling3D(2), k.layers.Flatten())


@model
def reshapes(k):
    return sequential(k, (6,), k.layers.Dense(6), k.layers.Reshape((3, 2)), k.layers.Permute((2, 1)), k.layers.Flatten(),
                      k.layers.RepeatVector(2), k.layers.UpSampling1D(2), k.layers.GlobalAveragePooling1D())


@model
def lstm(k):
    return sequential(k, (5, 3), k.layers.LSTM(4, return_sequences=True), k.layers.LSTM(2, go_backwards=True))


@model
def gru(k):
    return sequential(k, (5, 3), k.layers.GRU(4, return_sequences=True), k.layers.GRU(2, reset_after=False))


@model
def simple_rnn(k):
    return sequential(k, (5, 3), k.layers.SimpleRNN(4, return_sequences=True), k.layers.SimpleRNN(2, use_bias=False))


@model
def bidirectional(k):
    return sequential(k, (5, 3), k.layers.Bidirectional(k.layers.LSTM(3, return_sequences=True)),
                      k.layers.Bidirectional(k.layers.GRU(2), merge_mode="sum"))


@model
def rnn_of_cells(k):
    cells = [k.layers.LSTMCell(3), k.layers.GRUCell(2), k.layers.SimpleRNNCell(2)]
    return sequential(k, (5, 3), k.layers.RNN(k.layers.StackedRNNCells(cells), return_sequences=True),
                      k.layers.RNN(k.layers.LSTMCell(2)))


@model
def time_distributed(k):
    return sequential(k, (5, 3), k.layers.TimeDistributed(k.layers.Dense(4, activation="relu")),
                      k.layers.TimeDistributed(k.Sequential([k.Input((4,)), k.layers.Dense(2)])), k.layers.Flatten())


@model
def masks(k):
    return sequential(k, (6,), k.layers.Embedding(10, 4, mask_zero=True), k.layers.LSTM(3), k.layers.Dense(1),
                      x=np.where(np.arange(6) > 3, 0, ids(8, 6)).astype("float32"))


@model
def masks_functional(k):
    x = k.Input((6,))
    h = k.layers.Embedding(10, 4, mask_zero=True)(x)
    m = k.Model(x, k.layers.Dense(1)(k.layers.GRU(3)(h)))
    m.compile("adam", loss="mse")
    return m, [np.where(np.arange(6) > 3, 0, ids(8, 6)).astype("float32")], [numbers(8, 1)]


@model
def functional(k):
    a, b = k.Input((4,), name="a"), k.Input((3,), name="b")
    h = k.layers.Concatenate()([k.layers.Dense(3)(a), k.layers.Dense(3)(b)])
    p, q = k.layers.Dense(1, name="p")(h), k.layers.Dense(3, activation="softmax", name="q")(h)
    m = k.Model([a, b], [p, q])
    m.compile("adam", loss=["mse", "categorical_crossentropy"], loss_weights=[1.0, 0.5], metrics=[["mae"], ["accuracy"]])
    return m, [numbers(8, 4), numbers(8, 3)], [numbers(8, 1), classes(8, 3)]


@model
def merges(k):
    x = k.Input((4,))
    a, b = k.layers.Dense(3)(x), k.layers.Dense(3)(x)
    all_of = [layer()([a, b]) for layer in (k.layers.Add, k.layers.Multiply, k.layers.Average, k.layers.Maximum,
                                            k.layers.Minimum, k.layers.Subtract)]
    m = k.Model(x, k.layers.Concatenate()([*all_of, k.layers.Dot(axes=1, normalize=True)([a, b])]))
    m.compile("sgd", loss="mse")
    return m, [numbers(8, 4)], [numbers(8, 19)]


@model
def shared(k):
    a, b = k.Input((4,)), k.Input((4,))
    layer = k.layers.Dense(3, activation="tanh")
    m = k.Model([a, b], k.layers.Dense(1)(k.layers.Subtract()([layer(a), layer(b)])))
    m.compile("rmsprop", loss="mse")
    return m, [numbers(8, 4), numbers(8, 4) * 0.5], [numbers(8, 1)]


@model
def nested(k):
    base_in = k.Input((4,))
    base = k.Model(base_in, k.layers.Dense(4, activation="tanh")(base_in), name="base")
    x = k.Input((4,))
    m = k.Model(x, k.layers.Dense(1)(base(base(x))))
    m.compile("adam", loss="mse")
    return m, [numbers(8, 4)], [numbers(8, 1)]


@model
def nested_output(k):
    inner = k.Sequential([k.Input((4,)), k.layers.Dense(3), k.layers.BatchNormalization()], name="inner")
    base_in = k.Input((3,))
    base = k.Model(base_in, k.layers.Dense(2)(base_in), name="base")
    a, b = k.Input((4,)), k.Input((4,))
    m = k.Model([a, b], [base(inner(a)), inner(b)])
    m.compile("sgd", loss="mse")
    return m, [numbers(8, 4), numbers(8, 4) * 0.5], [numbers(8, 2), numbers(8, 3)]


@model
def nested_sequential(k):
    inner = k.Sequential([k.Input((4,)), k.layers.Dense(4, activation="relu")])
    return sequential(k, (4,), inner, k.layers.Dense(1))


@model
def encoder_decoder(k):
    a, b = k.Input((5, 3)), k.Input((4, 2))
    _, h, c = k.layers.LSTM(3, return_state=True)(a)
    m = k.Model([a, b], k.layers.LSTM(3, return_sequences=True)(b, initial_state=[h, c]))
    m.compile("adam", loss="mse")
    return m, [numbers(8, 5, 3), numbers(8, 4, 2)], [numbers(8, 4, 3)]


@model
def deferred(k):
    m = k.Sequential([k.layers.Dense(3, activation="relu"), k.layers.Dense(1)])
    m.compile("adam", loss="mse")
    m(numbers(8, 4))
    return m, [numbers(8, 4)], [numbers(8, 1)]


@model
def frozen(k):
    m, x, y = mlp(k)
    m.layers[0].trainable = False
    m.compile("adam", loss="mse")
    return m, x, y
