// The layers of layers.h, by TensorFlow's names and arguments.
#include "apps/systole/data/pipeline_spec.h"
#include "apps/systole/train/model_tables.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::app {
namespace {

constexpr ConfigKey kActivation = {"activation", "text", "", "Applied to the output; see below."};
constexpr ConfigKey kUseBias = {"use_bias", "boolean", "true", "Add a bias."};
constexpr ConfigKey kKernelInitializer = {"kernel_initializer", "initializer",
                                          "glorot_uniform_initializer",
                                          "Initial value of the kernel."};
constexpr ConfigKey kBiasInitializer = {"bias_initializer", "initializer", "zeros_initializer",
                                        "Initial value of the bias."};
constexpr ConfigKey kKernelRegularizer = {"kernel_regularizer", "regularizer", "",
                                          "Penalty on the kernel, added to the loss."};
constexpr ConfigKey kBiasRegularizer = {"bias_regularizer", "regularizer", "",
                                        "Penalty on the bias, added to the loss."};
constexpr ConfigKey kTrainable = {"trainable", "boolean", "true",
                                  "Whether training changes the variables."};
constexpr ConfigKey kName = {"name", "text", "",
                             "Prefix of the variable names; numbered by default."};
constexpr ConfigKey kFilters = {"filters", "integer", "required", "Channels of the output."};
constexpr ConfigKey kKernelSize = {"kernel_size", "integer or [h, w]", "required",
                                   "Height and width of the window."};
constexpr ConfigKey kStrides = {"strides", "integer or [h, w]", "1", "Strides of the window."};
constexpr ConfigKey kPadding = {"padding", "text", "valid", "`valid` or `same`."};
constexpr ConfigKey kDataFormat = {"data_format", "text", "channels_last", "Or channels_first."};
constexpr ConfigKey kDilation = {"dilation_rate", "integer or [h, w]", "1",
                                 "Distance between the pixels of the window."};

constexpr ConfigKey kDenseKeys[] = {{"units", "integer", "required", "Size of the output."},
                                    kActivation,
                                    kUseBias,
                                    kKernelInitializer,
                                    kBiasInitializer,
                                    kKernelRegularizer,
                                    kBiasRegularizer,
                                    kTrainable,
                                    kName};
constexpr ConfigKey kConv2DKeys[] = {kFilters,           kKernelSize,
                                     kStrides,           kPadding,
                                     kDataFormat,        kDilation,
                                     kActivation,        kUseBias,
                                     kKernelInitializer, kBiasInitializer,
                                     kKernelRegularizer, kBiasRegularizer,
                                     kTrainable,         kName};
constexpr ConfigKey kConv2DTransposeKeys[] = {kFilters,
                                              kKernelSize,
                                              kStrides,
                                              kPadding,
                                              kDataFormat,
                                              kActivation,
                                              kUseBias,
                                              kKernelInitializer,
                                              kBiasInitializer,
                                              kKernelRegularizer,
                                              kBiasRegularizer,
                                              kTrainable,
                                              kName};
constexpr ConfigKey kSeparableKeys[] = {
    kFilters,
    kKernelSize,
    kStrides,
    kPadding,
    kDataFormat,
    kDilation,
    {"depth_multiplier", "integer", "1", "Depthwise output channels for each input channel."},
    kActivation,
    kUseBias,
    {"depthwise_initializer", "initializer", "glorot_uniform_initializer",
     "Initial value of the depthwise kernel."},
    {"pointwise_initializer", "initializer", "glorot_uniform_initializer",
     "Initial value of the pointwise kernel."},
    kBiasInitializer,
    {"depthwise_regularizer", "regularizer", "", "Penalty on the depthwise kernel."},
    {"pointwise_regularizer", "regularizer", "", "Penalty on the pointwise kernel."},
    kBiasRegularizer,
    kTrainable,
    kName};
constexpr ConfigKey kPoolingKeys[] = {
    {"pool_size", "integer or [h, w]", "required", "Height and width of the window."},
    {"strides", "integer or [h, w]", "required", "Strides of the window."},
    kPadding,
    kDataFormat,
    kName};
constexpr ConfigKey kBatchNormalizationKeys[] = {
    {"axis", "integer", "-1", "Axis of the channels."},
    {"momentum", "number", "0.99", "Decay of the moving averages, from 0 to 1."},
    {"epsilon", "number", "0.001", "Added to the variance."},
    {"center", "boolean", "true", "Add beta."},
    {"scale", "boolean", "true", "Multiply by gamma."},
    {"cross_replica", "boolean", "false", "Use the statistics of all cores together."},
    kTrainable,
    kName};
constexpr ConfigKey kDropoutKeys[] = {
    {"rate", "number", "0.5", "Fraction that is dropped, in training only."},
    {"noise_shape", "list of integers", "",
     "Shape of the random mask; 1 shares a value along an axis."},
    {"seed", "integer", "", "Equal seeds give equal masks."},
    kName};
constexpr ConfigKey kFlattenKeys[] = {kName};
constexpr ConfigKey kEmbeddingKeys[] = {
    {"vocabulary_size", "integer", "required", "Number of rows of the table."},
    {"dimension", "integer", "required", "Size of each row."},
    {"initializer", "initializer", "glorot_uniform_initializer", "Initial value of the table."},
    {"name", "text", "embedding", "Name of the table."}};
constexpr ConfigKey kReshapeKeys[] = {
    {"shape", "list of integers", "required", "Shape including the batch: -1 first."}};
constexpr ConfigKey kCastKeys[] = {
    {"dtype", "text", "required", "TensorFlow's name of the dtype."}};
constexpr ConfigKey kScaleKeys[] = {{"by", "[factor, offset]", "required", "x * factor + offset."}};
constexpr ConfigKey kActivationKeys[] = {{"function", "text", "required", "See below."}};
constexpr ConfigKey kReduceKeys[] = {{"axis", "integers", "required", "Axes to reduce."}};

layers::Extent extent(const ConfigSection& s, const char* key) {
  const std::vector<int64_t> sizes = s.integers(key);
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMaxConfigSize) {
      throw s.error(key, std::to_string(size), fmt::format("sizes from 1 to {}", kMaxConfigSize));
    }
  }
  if (sizes.size() == 1) return sizes[0];
  if (sizes.size() != 2) {
    throw s.error(key, fmt::format("{} integers", sizes.size()), "one, or [height, width]");
  }
  return {sizes[0], sizes[1]};
}
layers::Extent extent(const ConfigSection& s, const char* key, int64_t otherwise) {
  return s.has(key) ? extent(s, key) : layers::Extent(otherwise);
}

layers::Activation activation(const ConfigSection& s, const char* key = "activation") {
  if (!s.has(key)) return nullptr;
  using Function = Output (*)(const Output&);
  return s.choice<Function>(key, activation_table(), nullptr);
}

Initializer initializer(const ConfigSection& s, const char* key, Initializer otherwise = nullptr) {
  return s.has(key) ? make_named(s.find(key), s.what(key), initializer_table())
                    : std::move(otherwise);
}

layers::Regularizer regularizer(const ConfigSection& s, const char* key) {
  return s.has(key) ? make_named(s.find(key), s.what(key), regularizer_table()) : nullptr;
}

Padding padding(const ConfigSection& s) {
  constexpr std::pair<const char*, Padding> kPaddings[] = {{"valid", Padding::valid},
                                                           {"same", Padding::same},
                                                           {"VALID", Padding::valid},
                                                           {"SAME", Padding::same}};
  return s.choice<Padding>("padding", kPaddings, Padding::valid);
}

std::string data_format(const ConfigSection& s) {
  constexpr std::pair<const char*, const char*> kFormats[] = {{"channels_last", "channels_last"},
                                                              {"channels_first", "channels_first"}};
  return s.choice<const char*>("data_format", kFormats, "channels_last");
}

// Arguments of all layers with weights.
template <class Options>
void add_weights(const ConfigSection& s, Options& options) {
  options.activation = activation(s);
  options.use_bias = s.flag("use_bias", true);
  options.bias_initializer = initializer(s, "bias_initializer", zeros_initializer());
  options.bias_regularizer = regularizer(s, "bias_regularizer");
  options.trainable = s.flag("trainable", true);
  options.name = s.text("name");
}

// Arguments of all convolutions.
template <class Options>
Options convolution(const ConfigSection& s) {
  Options options;
  options.filters = s.size("filters");
  options.kernel_size = extent(s, "kernel_size");
  options.strides = extent(s, "strides", 1);
  options.padding = padding(s);
  options.data_format = data_format(s);
  if constexpr (requires { options.dilation_rate; }) {
    options.dilation_rate = extent(s, "dilation_rate", 1);
  }
  add_weights(s, options);
  return options;
}

Layer dense(const ConfigSection& s) {
  layers::DenseOptions options;
  options.units = s.size("units");
  add_weights(s, options);
  options.kernel_initializer = initializer(s, "kernel_initializer");
  options.kernel_regularizer = regularizer(s, "kernel_regularizer");
  return [options](const Output& x, Mode) { return layers::dense(x, options); };
}

template <class Options, Output (*Convolve)(const Input&, const Options&)>
Layer convolution_layer(const ConfigSection& s) {
  auto options = convolution<Options>(s);
  options.kernel_initializer = initializer(s, "kernel_initializer");
  options.kernel_regularizer = regularizer(s, "kernel_regularizer");
  return [options](const Output& x, Mode) { return Convolve(x, options); };
}

Layer separable_conv2d(const ConfigSection& s) {
  auto options = convolution<layers::SeparableConv2DOptions>(s);
  options.depth_multiplier = s.has("depth_multiplier") ? s.size("depth_multiplier") : 1;
  options.depthwise_initializer = initializer(s, "depthwise_initializer");
  options.pointwise_initializer = initializer(s, "pointwise_initializer");
  options.depthwise_regularizer = regularizer(s, "depthwise_regularizer");
  options.pointwise_regularizer = regularizer(s, "pointwise_regularizer");
  return [options](const Output& x, Mode) { return layers::separable_conv2d(x, options); };
}

template <Output (*Pool)(const Input&, const layers::Pooling2DOptions&)>
Layer pooling(const ConfigSection& s) {
  const layers::Pooling2DOptions options{.pool_size = extent(s, "pool_size"),
                                         .strides = extent(s, "strides"),
                                         .padding = padding(s),
                                         .data_format = data_format(s),
                                         .name = s.text("name")};
  return [options](const Output& x, Mode) { return Pool(x, options); };
}

// A layer that behaves differently in training.
template <class Options>
Layer with_mode(Output (*layer)(const Input&, const Options&), const Options& options) {
  return [=](const Output& x, Mode mode) {
    Options now = options;
    now.training = mode == Mode::train;
    return layer(x, now);
  };
}

Layer batch_normalization(const ConfigSection& s) {
  const layers::BatchNormalizationOptions options{
      .axis = s.integer("axis", -1),
      .momentum = s.number("momentum", 0.99, kFraction),
      .epsilon = s.number("epsilon", 0.001, kNotNegative),
      .center = s.flag("center", true),
      .scale = s.flag("scale", true),
      .trainable = s.flag("trainable", true),
      .cross_replica = s.flag("cross_replica"),
      .name = s.text("name")};
  return with_mode(layers::batch_normalization, options);
}

Layer dropout(const ConfigSection& s) {
  const layers::DropoutOptions options{
      .rate = s.number("rate", 0.5, kBelowOne),
      .noise_shape = s.has("noise_shape") ? s.integers("noise_shape") : std::vector<int64_t>{},
      .seed = s.optional_integer("seed"),
      .name = s.text("name")};
  return with_mode(layers::dropout, options);
}

Layer embedding_lookup(const ConfigSection& s) {
  const Shape shape{s.size("vocabulary_size"), s.size("dimension")};
  return [shape, first = initializer(s, "initializer"), name = s.text("name", "embedding")](
             const Output& x, Mode) {
    const Variable table = get_variable(name, shape, {.initializer = first});
    return layers::embedding_lookup(table, x);
  };
}

// An op of pipelines, applied to a batch.
template <const ConfigKey* Key>
Layer pipeline_op(const ConfigSection& s) {
  const GraphOp op = parse_pipeline_op(s.name(), s.require(Key->name, Key->type));
  return [op](const Output& x, Mode) { return op(x).leaf(); };
}

template <Output (*Reduce)(const Input&, const ReduceOptions&)>
Layer reduction(const ConfigSection& s) {
  return [axes = s.integers("axis")](const Output& x, Mode) { return Reduce(x, {.axis = axes}); };
}

constexpr ConfigRow<Layer> kLayers[] = {
    {"dense", "Fully connected: activation(inputs * kernel + bias).", kDenseKeys, &dense},
    {"conv2d", "2-D convolution.", kConv2DKeys,
     &convolution_layer<layers::Conv2DOptions, &layers::conv2d>},
    {"conv2d_transpose", "Transposed convolution: enlarges images.", kConv2DTransposeKeys,
     &convolution_layer<layers::Conv2DTransposeOptions, &layers::conv2d_transpose>},
    {"separable_conv2d", "Depthwise convolution, then a convolution of size 1.", kSeparableKeys,
     &separable_conv2d},
    {"max_pooling2d", "The maximum of each window.", kPoolingKeys,
     &pooling<&layers::max_pooling2d>},
    {"average_pooling2d", "The mean of each window.", kPoolingKeys,
     &pooling<&layers::average_pooling2d>},
    {"batch_normalization", "Normalises each channel to mean 0 and variance 1.",
     kBatchNormalizationKeys, &batch_normalization},
    {"dropout", "Sets a random part of the inputs to 0.", kDropoutKeys, &dropout},
    {"flatten", "Joins all axes except the batch.", kFlattenKeys,
     [](const ConfigSection& s) -> Layer {
       return [options = layers::FlattenOptions{.name = s.text("name")}](const Output& x, Mode) {
         return layers::flatten(x, options);
       };
     }},
    {"embedding_lookup", "Looks up a row of a table for each integer.", kEmbeddingKeys,
     &embedding_lookup},
    {"activation", "Applies a function to each element.", kActivationKeys,
     [](const ConfigSection& s) -> Layer {
       s.require("function", "a name");
       return [f = activation(s, "function")](const Output& x, Mode) { return f(x); };
     }},
    {"reduce_mean", "The mean over axes.", kReduceKeys, &reduction<&systole::reduce_mean>},
    {"reduce_max", "The maximum over axes.", kReduceKeys, &reduction<&systole::reduce_max>},
    {"reshape", "Changes the shape.", kReshapeKeys, &pipeline_op<kReshapeKeys>},
    {"cast", "Converts to another dtype.", kCastKeys, &pipeline_op<kCastKeys>},
    {"scale", "A linear function.", kScaleKeys, &pipeline_op<kScaleKeys>}};

}  // namespace

std::span<const ConfigRow<Layer>> layer_table() { return kLayers; }

}  // namespace systole::app
