#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/edges.h"

namespace systole::keras::layers {
namespace {

ZeroPaddingOptions normalized_zero_padding(std::string_view layer, int rank, ZeroPaddingOptions o) {
  normalize_edges(layer, "padding", o.padding, rank);
  normalize_image_format(layer, o.data_format, rank);
  return o;
}

template <int kRank>
class ZeroPaddingLayer : public LayerOf<ZeroPaddingLayer<kRank>, ZeroPaddingOptions> {
 public:
  static constexpr std::string_view kClassName = kRank == 1   ? "ZeroPadding1D"
                                                 : kRank == 2 ? "ZeroPadding2D"
                                                              : "ZeroPadding3D";
  static std::vector<Field<ZeroPaddingOptions>> fields() {
    using O = ZeroPaddingOptions;
    if (kRank == 1) return {field("padding", &O::padding)};
    return {field("padding", &O::padding), field("data_format", &O::data_format)};
  }

  explicit ZeroPaddingLayer(ZeroPaddingOptions options)
      : LayerOf<ZeroPaddingLayer<kRank>, ZeroPaddingOptions>(
            normalized_zero_padding(kClassName, kRank, std::move(options))) {
    this->input_specs_ = {{.ndim = kRank + 2}};
  }

  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const SpatialAxes axes = spatial_axes(kRank, this->options_.data_format);
    std::vector<std::pair<int64_t, int64_t>> paddings(kRank + 2);
    for (int i = 0; i < kRank; ++i) {
      const Edge& edge = this->options_.padding.axes[i];
      paddings[axes.spatial(i)] = {edge.low, edge.high};
    }
    return {pad(inputs.at(0), paddings)};
  }
};

template <int kRank>
LayerClass zero_padding_of_rank() {
  return layer_class<ZeroPaddingLayer<kRank>, ZeroPaddingOptions>();
}

}  // namespace

LayerClass zero_padding1d_class() { return zero_padding_of_rank<1>(); }
LayerClass zero_padding2d_class() { return zero_padding_of_rank<2>(); }
LayerClass zero_padding3d_class() { return zero_padding_of_rank<3>(); }

template <int kRank>
ZeroPadding<kRank>::ZeroPadding(Edges padding, ZeroPaddingOptions options, Where where)
    : Layer([&] {
        options.padding = std::move(padding);
        return make_layer<ZeroPaddingLayer<kRank>>(std::move(options), where);
      }()) {}

template class ZeroPadding<1>;
template class ZeroPadding<2>;
template class ZeroPadding<3>;

}  // namespace systole::keras::layers
