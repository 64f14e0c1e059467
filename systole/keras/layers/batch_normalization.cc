#include <algorithm>
#include <span>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/op_error.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/normalization.h"
#include "systole/train/example_mask.h"
#include "systole/train/replicas.h"

namespace systole::keras::layers {
namespace {

// The smallest epsilon of TensorFlow's kernel for images.
constexpr double kFusedEpsilon = 1.001e-5;

// With axes of size 1 in place of those that were summed over.
struct BatchStatistics {
  Output mean;
  Output variance;  // of the population
  Output count;     // of the elements after each, a scalar
};

// Over the other axes than `kept`, and over all replicas, without the examples that pad the batch.
// `features`: the number of means.
BatchStatistics batch_statistics(const Output& x, const Dims& kept, int64_t features) {
  const ReduceOptions over{.axis = other_axes(kept, x.shape().rank()), .keepdims = true};
  const Output weights = masked_weights(x, 1.0F);
  const bool weighted = weights.shape().rank() > 0;
  const auto sum = [&](const Output& values) {
    return replica_sum(reduce_sum(weighted ? values * weights : values, over));
  };
  const Output rows = cast(gather(shape(x), 0), x.dtype());
  const Output per_row = cast(size(x), x.dtype()) / rows / static_cast<double>(features);
  const Output count = replica_sum((weighted ? reduce_sum(weights) : rows) * per_row);
  const Output mean = sum(x) / count;
  return {mean, sum(square(x - mean)) / count, count};
}

class BatchNormalizationLayer : public LayerOf<BatchNormalizationLayer, BatchNormalizationOptions> {
 public:
  static constexpr std::string_view kClassName = "BatchNormalization";
  static std::vector<Field<BatchNormalizationOptions>> fields() {
    using O = BatchNormalizationOptions;
    return {field("axis", &O::axis),
            field("momentum", &O::momentum),
            field("epsilon", &O::epsilon),
            field("center", &O::center),
            field("scale", &O::scale),
            field("beta_initializer", &O::beta_initializer),
            field("gamma_initializer", &O::gamma_initializer),
            field("moving_mean_initializer", &O::moving_mean_initializer),
            field("moving_variance_initializer", &O::moving_variance_initializer),
            field("beta_regularizer", &O::beta_regularizer),
            field("gamma_regularizer", &O::gamma_regularizer),
            field("beta_constraint", &O::beta_constraint),
            field("gamma_constraint", &O::gamma_constraint),
            field("fused", &O::fused),
            field("batch_statistics_when_frozen", &O::batch_statistics_when_frozen)};
  }

  explicit BatchNormalizationLayer(BatchNormalizationOptions options)
      : LayerOf(std::move(options)) {
    if (!(options_.epsilon >= 0)) {
      throw invalid_argument("BatchNormalization: epsilon, got {}, expected at least 0",
                             options_.epsilon);
    }
    if (!(options_.momentum >= 0 && options_.momentum <= 1)) {
      throw invalid_argument("BatchNormalization: momentum, got {}, expected a number in [0, 1]",
                             options_.momentum);
    }
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }

  // As Keras writes it: what it does not know only where it differs from the default.
  Json config() const override {
    Json json = LayerOf::config();
    if (!options_.fused) json.erase("fused");
    if (!options_.batch_statistics_when_frozen) json.erase("batch_statistics_when_frozen");
    return json;
  }

  void build(const std::vector<Shape>& input_shapes) override {
    const Shape& shape = input_shapes.at(0);
    const int rank = shape.rank();
    axes_ = with_op(name(), where(), [&] { return options_.axis.of_rank(rank); });
    along_.assign(static_cast<size_t>(rank), 1);
    input_specs_ = {{.ndim = rank}};
    for (const int64_t axis : axes_) {
      const int64_t size = shape[static_cast<int>(axis)];
      if (size < 0) {
        throw invalid_argument("Input has undefined `axis` dimension. Input shape: {}",
                               sizes_text(shape));
      }
      along_[axis] = size;
      input_specs_[0].axes.emplace_back(static_cast<int>(axis), size);
      features_ *= size;
    }
    set_fused(rank);
    add_weights();
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& given = inputs.at(0);
    const Output x = cast(given, accumulation_dtype(given.dtype()));
    const bool trained = context.trainable(*this);
    const bool of_batch = context.training() && (trained || options_.batch_statistics_when_frozen);
    Output mean = along_axes(context.value(moving_mean_));
    Output variance = along_axes(context.value(moving_variance_));
    if (of_batch) {
      const BatchStatistics batch = batch_statistics(x, axes_, features_);
      mean = batch.mean;
      variance = batch.variance;
      if (trained) update_averages(context, batch);
    }
    const double epsilon = fused_ ? std::max(options_.epsilon, kFusedEpsilon) : options_.epsilon;
    Output factor = rsqrt(variance + epsilon);
    if (gamma_) factor = factor * along_axes(context.value(gamma_));
    Output y = (x - mean) * factor;
    if (beta_) y = y + along_axes(context.value(beta_));
    return {cast(y, given.dtype())};
  }

 private:
  void set_fused(int rank) {
    const bool fits = axes_.size() == 1 && (axes_[0] == 1 || axes_[0] == 3);
    fused_ = options_.fused.value_or(rank == 4 && fits);
    if (!fused_) return;
    if (rank != 4) {
      throw invalid_argument(
          "Batch normalization layers with fused=True only support 4D input tensors. Layer {} got "
          "{} dimensions",
          name(), rank);
    }
    if (!fits) {
      throw invalid_argument(
          "Unsupported axis, fused batch norm only supports axis == [1] or axis == [3]. Layer {}",
          name());
    }
  }

  void add_weights() {
    const Shape shape =
        axes_.size() == 1 ? Shape{features_} : Shape(std::span<const int64_t>(along_));
    if (options_.scale) {
      gamma_ = add_weight("gamma", shape,
                          {.initializer = options_.gamma_initializer.for_weight(),
                           .regularizer = options_.gamma_regularizer.function(),
                           .constraint = options_.gamma_constraint.function()});
    }
    if (options_.center) {
      beta_ = add_weight("beta", shape,
                         {.initializer = options_.beta_initializer.for_weight(),
                          .regularizer = options_.beta_regularizer.function(),
                          .constraint = options_.beta_constraint.function()});
    }
    moving_mean_ = add_weight(
        "moving_mean", shape,
        {.initializer = options_.moving_mean_initializer.for_weight(), .trainable = false});
    moving_variance_ = add_weight(
        "moving_variance", shape,
        {.initializer = options_.moving_variance_initializer.for_weight(), .trainable = false});
  }

  Output along_axes(const Output& weight) const { return reshape(weight, along_); }

  void update_averages(CallContext& context, const BatchStatistics& batch) {
    Output variance = batch.variance;
    if (fused_) variance = variance * (batch.count / maximum(batch.count - 1.0F, 1.0F));
    const auto move = [&](const WeightPtr& average, const Output& value) {
      const Output old = context.latest(average);
      const Output seen = reshape(stop_gradient(value), average->shape());
      context.add_update(average, old - (old - seen) * (1 - options_.momentum));
    };
    move(moving_mean_, batch.mean);
    move(moving_variance_, variance);
  }

  WeightPtr gamma_;
  WeightPtr beta_;
  WeightPtr moving_mean_;
  WeightPtr moving_variance_;
  Dims axes_;
  std::vector<int64_t> along_;  // the input's sizes along the axes, 1 elsewhere
  int64_t features_ = 1;
  bool fused_ = false;
};

// Removes TensorFlow's arguments that this layer does not have. Errors: UNIMPLEMENTED for one in
// use.
Json without_renorm(Json config) {
  for (const char* key : {"renorm", "virtual_batch_size", "adjustment"}) {
    const auto it = config.find(key);
    if (it == config.end()) continue;
    if (!it->is_null() && *it != Json(false)) {
      throw make_error(Code::unimplemented,
                       "BatchNormalization: argument '{}', got {}, expected null: it is not "
                       "supported",
                       key, it->dump());
    }
    config.erase(it);
  }
  for (const char* key : {"renorm_clipping", "renorm_momentum"}) config.erase(key);
  return config;
}

}  // namespace

LayerClass batch_normalization_class() {
  LayerClass made =
      layer_class<BatchNormalizationLayer, BatchNormalizationOptions>({"BatchNormalizationV1"});
  made.from_config = [from_fields = made.from_config](const Json& config) {
    return from_fields(without_renorm(config));
  };
  return made;
}

BatchNormalization::BatchNormalization(BatchNormalizationOptions options, Where where)
    : Layer(make_layer<BatchNormalizationLayer>(std::move(options), where)) {}

}  // namespace systole::keras::layers
