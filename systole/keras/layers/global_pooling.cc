#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/pooling.h"
#include "systole/keras/layers/spatial.h"

namespace systole::keras::layers {
namespace {

constexpr std::string_view kGlobalPoolingNames[2][3] = {
    {"GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D"},
    {"GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D"}};

// Pools [batch, steps, channels] or [batch, channels, steps] under a mask [batch, steps]. An
// example without steps, such as one that fills up a batch, gives 0 rather than a value that is not
// finite.
Output pool_unmasked(PoolingKind kind, const SpatialAxes& axes, const Output& x,
                     const Output& mask) {
  const int time = axes.spatial(0);
  const Output steps = expand_dims(mask, axes.channels());
  if (kind == PoolingKind::average) {
    const Output sum = reduce_sum(where_v2(steps, x, 0.0), {.axis = time});
    const Output count = reduce_sum(cast(mask, x.dtype()), {.axis = 1, .keepdims = true});
    return sum / maximum(count, 1.0);
  }
  const double lowest = -std::numeric_limits<double>::infinity();
  const Output most = reduce_max(where_v2(steps, x, lowest), {.axis = time});
  return where_v2(reduce_any(mask, {.axis = 1, .keepdims = true}), most, 0.0);
}

GlobalPoolingOptions normalized_global_pooling(std::string_view layer, GlobalPoolingOptions o) {
  normalize_data_format(layer, o.data_format);
  return o;
}

template <PoolingKind kKind, int kRank>
class GlobalPoolingLayer : public LayerOf<GlobalPoolingLayer<kKind, kRank>, GlobalPoolingOptions> {
 public:
  static constexpr std::string_view kClassName =
      kGlobalPoolingNames[static_cast<size_t>(kKind)][kRank - 1];
  static std::vector<Field<GlobalPoolingOptions>> fields() {
    return {field("data_format", &GlobalPoolingOptions::data_format)};
  }

  explicit GlobalPoolingLayer(GlobalPoolingOptions options)
      : LayerOf<GlobalPoolingLayer<kKind, kRank>, GlobalPoolingOptions>(
            normalized_global_pooling(kClassName, std::move(options))),
        axes_(spatial_axes(kRank, this->options_.data_format)) {
    this->input_specs_ = {{.ndim = axes_.ndim()}};
  }

  MaskSupport mask_support() const override {
    return kRank == 1 ? MaskSupport::custom : MaskSupport::refuse;
  }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    const Output mask = context.mask(x);
    if (mask.valid()) return {pool_unmasked(kKind, axes_, x, mask)};
    Dims spatial;
    for (int i = 0; i < kRank; ++i) spatial.push_back(axes_.spatial(i));
    return {kKind == PoolingKind::max ? reduce_max(x, {.axis = spatial})
                                      : reduce_mean(x, {.axis = spatial})};
  }

 private:
  const SpatialAxes axes_;
};

template <PoolingKind kKind, int kRank>
LayerClass global_pooling_of_rank(std::string alias) {
  return layer_class<GlobalPoolingLayer<kKind, kRank>, GlobalPoolingOptions>({std::move(alias)});
}

}  // namespace

LayerClass global_max_pooling1d_class() {
  return global_pooling_of_rank<PoolingKind::max, 1>("GlobalMaxPool1D");
}
LayerClass global_max_pooling2d_class() {
  return global_pooling_of_rank<PoolingKind::max, 2>("GlobalMaxPool2D");
}
LayerClass global_max_pooling3d_class() {
  return global_pooling_of_rank<PoolingKind::max, 3>("GlobalMaxPool3D");
}
LayerClass global_average_pooling1d_class() {
  return global_pooling_of_rank<PoolingKind::average, 1>("GlobalAvgPool1D");
}
LayerClass global_average_pooling2d_class() {
  return global_pooling_of_rank<PoolingKind::average, 2>("GlobalAvgPool2D");
}
LayerClass global_average_pooling3d_class() {
  return global_pooling_of_rank<PoolingKind::average, 3>("GlobalAvgPool3D");
}

template <PoolingKind kKind, int kRank>
GlobalPooling<kKind, kRank>::GlobalPooling(GlobalPoolingOptions options, Where where)
    : Layer(make_layer<GlobalPoolingLayer<kKind, kRank>>(std::move(options), where)) {}

template class GlobalPooling<PoolingKind::max, 1>;
template class GlobalPooling<PoolingKind::max, 2>;
template class GlobalPooling<PoolingKind::max, 3>;
template class GlobalPooling<PoolingKind::average, 1>;
template class GlobalPooling<PoolingKind::average, 2>;
template class GlobalPooling<PoolingKind::average, 3>;

}  // namespace systole::keras::layers
