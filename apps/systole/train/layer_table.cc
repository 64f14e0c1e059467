// The layers of layers.h, by TensorFlow's names and arguments.
#include "apps/systole/data/pipeline_spec.h"
#include "apps/systole/train/model_tables.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"

namespace systole::app {
namespace {

constexpr ConfigKey kActivation = {"activation", "text", "", "Applied to the result; see below."};
constexpr ConfigKey kUseBias = {"use_bias", "boolean", "true", "Whether a bias is added."};
constexpr ConfigKey kKernelInitializer = {
    "kernel_initializer", "initializer", "glorot_uniform_initializer", "The kernel's first value."};
constexpr ConfigKey kBiasInitializer = {"bias_initializer", "initializer", "zeros_initializer",
                                        "The bias's first value."};
constexpr ConfigKey kKernelRegularizer = {"kernel_regularizer", "regularizer", "",
                                          "Added to the loss, of the kernel."};
constexpr ConfigKey kBiasRegularizer = {"bias_regularizer", "regularizer", "",
                                        "Added to the loss, of the bias."};
constexpr ConfigKey kTrainable = {"trainable", "boolean", "true", "Whether training changes it."};
constexpr ConfigKey kName = {"name", "text", "", "Of its variables; numbered when absent."};
constexpr ConfigKey kFilters = {"filters", "integer", "required", "Channels of the result."};
constexpr ConfigKey kKernelSize = {"kernel_size", "integer or [h, w]", "required",
                                   "The height and width of the window."};
constexpr ConfigKey kStrides = {"strides", "integer or [h, w]", "1", "The window's steps."};
constexpr ConfigKey kPadding = {"padding", "text", "valid", "`valid` or `same`."};
constexpr ConfigKey kDataFormat = {"data_format", "text", "channels_last", "Or channels_first."};
constexpr ConfigKey kDilation = {"dilation_rate", "integer or [h, w]", "1",
                                 "The distance between the window's pixels."};

constexpr ConfigKey kDenseKeys[] = {{"units", "integer", "required", "Size of the result."},
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
    {"depth_multiplier", "integer", "1", "Channels that each channel becomes first."},
    kActivation,
    kUseBias,
    {"depthwise_initializer", "initializer", "glorot_uniform_initializer",
     "The first value of the channels' kernel."},
    {"pointwise_initializer", "initializer", "glorot_uniform_initializer",
     "The first value of the kernel of size 1."},
    kBiasInitializer,
    {"depthwise_regularizer", "regularizer", "", "Added to the loss, of the channels' kernel."},
    {"pointwise_regularizer", "regularizer", "", "Added to the loss, of the kernel of size 1."},
    kBiasRegularizer,
    kTrainable,
    kName};
constexpr ConfigKey kPoolingKeys[] = {
    {"pool_size", "integer or [h, w]", "required", "The height and width of the window."},
    {"strides", "integer or [h, w]", "required", "The window's steps."},
    kPadding,
    kDataFormat,
    kName};
constexpr ConfigKey kBatchNormalizationKeys[] = {
    {"axis", "integer", "-1", "That of the channels."},
    {"momentum", "number", "0.99", "Of the moving averages."},
    {"epsilon", "number", "0.001", "Added to the variance."},
    {"center", "boolean", "true", "Whether beta is added."},
    {"scale", "boolean", "true", "Whether gamma is a factor."},
    {"cross_replica", "boolean", "false", "Statistics over the batches of all cores."},
    kTrainable,
    kName};
constexpr ConfigKey kDropoutKeys[] = {
    {"rate", "number", "0.5", "The part that is dropped, in training only."},
    {"noise_shape", "list of integers", "", "1 shares a draw along an axis."},
    {"seed", "integer", "", "Equal seeds, equal draws."},
    kName};
constexpr ConfigKey kFlattenKeys[] = {kName};
constexpr ConfigKey kEmbeddingKeys[] = {
    {"vocabulary_size", "integer", "required", "Rows of the table."},
    {"dimension", "integer", "required", "Size of a row."},
    {"initializer", "initializer", "glorot_uniform_initializer", "The table's first value."},
    {"name", "text", "embedding", "Of the table."}};
constexpr ConfigKey kReshapeKeys[] = {
    {"shape", "list of integers", "required", "With the batch: -1 first."}};
constexpr ConfigKey kCastKeys[] = {{"dtype", "text", "required", "TensorFlow's name of it."}};
constexpr ConfigKey kScaleKeys[] = {{"by", "[factor, offset]", "required", "x * factor + offset."}};
constexpr ConfigKey kActivationKeys[] = {{"function", "text", "required", "See below."}};
constexpr ConfigKey kReduceKeys[] = {{"axis", "integers", "required", "The axes that go."}};

layers::Extent extent(const ConfigSection& s, const char* key) {
  const std::vector<int64_t> sizes = s.integers(key);
  for (const int64_t size : sizes) {
    if (size < 1) throw s.error(key, std::to_string(size), "sizes of at least 1");
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

// What all layers with weights take.
template <class Options>
void add_weights(const ConfigSection& s, Options& options) {
  options.activation = activation(s);
  options.use_bias = s.flag("use_bias", true);
  options.bias_initializer = initializer(s, "bias_initializer", zeros_initializer());
  options.bias_regularizer = regularizer(s, "bias_regularizer");
  options.trainable = s.flag("trainable", true);
  options.name = s.text("name");
}

// What all convolutions take.
template <class Options>
Options convolution(const ConfigSection& s) {
  Options options;
  options.filters = s.integer_from("filters", 1);
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
  options.units = s.integer_from("units", 1);
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
  options.depth_multiplier = s.integer("depth_multiplier", 1, 1);
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

// A layer that is another one in training.
template <class Options>
Layer with_mode(Output (*layer)(const Input&, const Options&), const Options& options) {
  return [=](const Output& x, Mode mode) {
    Options now = options;
    now.training = mode == Mode::train;
    return layer(x, now);
  };
}

Layer batch_normalization(const ConfigSection& s) {
  const layers::BatchNormalizationOptions options{.axis = s.integer("axis", -1),
                                                  .momentum = s.number("momentum", 0.99),
                                                  .epsilon = s.number("epsilon", 0.001),
                                                  .center = s.flag("center", true),
                                                  .scale = s.flag("scale", true),
                                                  .trainable = s.flag("trainable", true),
                                                  .cross_replica = s.flag("cross_replica"),
                                                  .name = s.text("name")};
  return with_mode(layers::batch_normalization, options);
}

Layer dropout(const ConfigSection& s) {
  const layers::DropoutOptions options{
      .rate = s.number("rate", 0.5),
      .noise_shape = s.has("noise_shape") ? s.integers("noise_shape") : std::vector<int64_t>{},
      .seed = s.optional_integer("seed"),
      .name = s.text("name")};
  return with_mode(layers::dropout, options);
}

Layer embedding_lookup(const ConfigSection& s) {
  const Shape shape{s.integer_from("vocabulary_size", 1), s.integer_from("dimension", 1)};
  return [shape, first = initializer(s, "initializer"), name = s.text("name", "embedding")](
             const Output& x, Mode) {
    const Variable table = get_variable(name, shape, {.initializer = first});
    return layers::embedding_lookup(table, x);
  };
}

// An op of pipelines, on a batch.
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
    {"dense", "Each output sees all inputs.", kDenseKeys, &dense},
    {"conv2d", "A convolution of images.", kConv2DKeys,
     &convolution_layer<layers::Conv2DOptions, &layers::conv2d>},
    {"conv2d_transpose", "Its transpose: grows images.", kConv2DTransposeKeys,
     &convolution_layer<layers::Conv2DTransposeOptions, &layers::conv2d_transpose>},
    {"separable_conv2d", "One of each channel, then one over the channels.", kSeparableKeys,
     &separable_conv2d},
    {"max_pooling2d", "The greatest of each window.", kPoolingKeys,
     &pooling<&layers::max_pooling2d>},
    {"average_pooling2d", "The mean of each window.", kPoolingKeys,
     &pooling<&layers::average_pooling2d>},
    {"batch_normalization", "Mean 0 and variance 1 in each channel.", kBatchNormalizationKeys,
     &batch_normalization},
    {"dropout", "Leaves out a part of the inputs.", kDropoutKeys, &dropout},
    {"flatten", "All but the batch in one axis.", kFlattenKeys,
     [](const ConfigSection& s) -> Layer {
       return [options = layers::FlattenOptions{.name = s.text("name")}](const Output& x, Mode) {
         return layers::flatten(x, options);
       };
     }},
    {"embedding_lookup", "A row of a table for each number.", kEmbeddingKeys, &embedding_lookup},
    {"activation", "A function of each element.", kActivationKeys,
     [](const ConfigSection& s) -> Layer {
       s.require("function", "a name");
       return [f = activation(s, "function")](const Output& x, Mode) { return f(x); };
     }},
    {"reduce_mean", "The mean over axes.", kReduceKeys, &reduction<&systole::reduce_mean>},
    {"reduce_max", "The greatest over axes.", kReduceKeys, &reduction<&systole::reduce_max>},
    {"reshape", "Another shape.", kReshapeKeys, &pipeline_op<kReshapeKeys>},
    {"cast", "Another dtype.", kCastKeys, &pipeline_op<kCastKeys>},
    {"scale", "A linear function.", kScaleKeys, &pipeline_op<kScaleKeys>}};

}  // namespace

std::span<const ConfigRow<Layer>> layer_table() { return kLayers; }

}  // namespace systole::app
