#include "systole/keras/layers/pooling.h"

#include "systole/graph/api/nn_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/spatial.h"

namespace systole::keras::layers {
namespace {

constexpr std::string_view kPoolingNames[2][3] = {
    {"MaxPooling1D", "MaxPooling2D", "MaxPooling3D"},
    {"AveragePooling1D", "AveragePooling2D", "AveragePooling3D"}};

PoolingOptions normalized_pooling(std::string_view layer, int rank, PoolingOptions o) {
  if (o.strides.empty()) o.strides = o.pool_size;
  normalize_sizes(layer, "pool_size", o.pool_size, rank);
  normalize_sizes(layer, "strides", o.strides, rank);
  normalize_padding(layer, o.padding);
  normalize_data_format(layer, o.data_format);
  return o;
}

template <PoolingKind kKind, int kRank>
class PoolingLayer : public LayerOf<PoolingLayer<kKind, kRank>, PoolingOptions> {
 public:
  static constexpr std::string_view kClassName =
      kPoolingNames[static_cast<size_t>(kKind)][kRank - 1];
  static std::vector<Field<PoolingOptions>> fields() {
    using O = PoolingOptions;
    return {field("pool_size", &O::pool_size), field("strides", &O::strides),
            field("padding", &O::padding), field("data_format", &O::data_format)};
  }

  explicit PoolingLayer(PoolingOptions options)
      : LayerOf<PoolingLayer<kKind, kRank>, PoolingOptions>(
            normalized_pooling(kClassName, kRank, std::move(options))),
        axes_(spatial_axes(kRank, this->options_.data_format)) {
    this->input_specs_ = {{.ndim = axes_.ndim()}};
  }

  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const PoolingOptions& o = this->options_;
    const Output& x = inputs.at(0);
    if (o.padding == "valid") {
      check_window_fits(*this, "pool_size", axes_, x.shape(), o.pool_size.values);
    }
    const Padding padding = padding_from_string(o.padding);
    if constexpr (kRank == 3) {
      const Pool3DOptions pool{.ksize = o.pool_size.values,
                               .strides = o.strides.values,
                               .padding = padding,
                               .data_format = axes_.op_format()};
      return {kKind == PoolingKind::max ? max_pool3d(x, pool) : avg_pool3d(x, pool)};
    } else {
      const PoolOptions pool{.ksize = widened(o.pool_size),
                             .strides = widened(o.strides),
                             .padding = padding,
                             .data_format = axes_.op_format()};
      const Output image = widened(axes_, x);
      return {narrowed(axes_,
                       kKind == PoolingKind::max ? max_pool(image, pool) : avg_pool(image, pool))};
    }
  }

 private:
  const SpatialAxes axes_;
};

template <PoolingKind kKind, int kRank>
LayerClass pooling_of_rank(std::string alias) {
  return layer_class<PoolingLayer<kKind, kRank>, PoolingOptions>({std::move(alias)});
}

}  // namespace

LayerClass max_pooling1d_class() { return pooling_of_rank<PoolingKind::max, 1>("MaxPool1D"); }
LayerClass max_pooling2d_class() { return pooling_of_rank<PoolingKind::max, 2>("MaxPool2D"); }
LayerClass max_pooling3d_class() { return pooling_of_rank<PoolingKind::max, 3>("MaxPool3D"); }
LayerClass average_pooling1d_class() {
  return pooling_of_rank<PoolingKind::average, 1>("AvgPool1D");
}
LayerClass average_pooling2d_class() {
  return pooling_of_rank<PoolingKind::average, 2>("AvgPool2D");
}
LayerClass average_pooling3d_class() {
  return pooling_of_rank<PoolingKind::average, 3>("AvgPool3D");
}

template <PoolingKind kKind, int kRank>
Pooling<kKind, kRank>::Pooling(Sizes pool_size, PoolingOptions options, Where where)
    : Layer([&] {
        options.pool_size = std::move(pool_size);
        return make_layer<PoolingLayer<kKind, kRank>>(std::move(options), where);
      }()) {}

template class Pooling<PoolingKind::max, 1>;
template class Pooling<PoolingKind::max, 2>;
template class Pooling<PoolingKind::max, 3>;
template class Pooling<PoolingKind::average, 1>;
template class Pooling<PoolingKind::average, 2>;
template class Pooling<PoolingKind::average, 3>;

}  // namespace systole::keras::layers
