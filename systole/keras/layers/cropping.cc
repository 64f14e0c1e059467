#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/edges.h"

namespace systole::keras::layers {
namespace {

template <int kRank>
class CroppingLayer : public LayerOf<CroppingLayer<kRank>, CroppingOptions<kRank>> {
 public:
  using Options = CroppingOptions<kRank>;
  static constexpr std::string_view kClassName = kRank == 1   ? "Cropping1D"
                                                 : kRank == 2 ? "Cropping2D"
                                                              : "Cropping3D";
  static std::vector<Field<Options>> fields() {
    if (kRank == 1) return {field("cropping", &Options::cropping)};
    return {field("cropping", &Options::cropping), field("data_format", &Options::data_format)};
  }

  explicit CroppingLayer(Options options)
      : LayerOf<CroppingLayer<kRank>, Options>(normalized(std::move(options))) {
    this->input_specs_ = {{.ndim = kRank + 2}};
  }

  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const SpatialAxes axes = spatial_axes(kRank, this->options_.data_format);
    const Output& x = inputs.at(0);
    std::vector<int64_t> begin(kRank + 2, 0);
    std::vector<int64_t> end(kRank + 2, 0);
    int64_t to_the_end = (int64_t{1} << (kRank + 2)) - 1;
    for (int i = 0; i < kRank; ++i) {
      const Edge& edge = this->options_.cropping.axes[i];
      const int axis = axes.spatial(i);
      check_something_is_left(x.shape(), axis, edge);
      begin[axis] = edge.low;
      if (edge.high == 0) continue;
      end[axis] = -edge.high;
      to_the_end &= ~(int64_t{1} << axis);
    }
    return {strided_slice(x, begin, end, {.end_mask = to_the_end})};
  }

 private:
  static Options normalized(Options o) {
    normalize_edges(kClassName, "cropping", o.cropping, kRank);
    normalize_image_format(kClassName, o.data_format, kRank);
    return o;
  }

  void check_something_is_left(const Shape& input, int axis, const Edge& edge) const {
    if (input[axis] < 0 || input[axis] > edge.low + edge.high) return;
    throw invalid_argument(
        "{}: cropping {} removes {} elements of axis {}, got an input of shape {}, expected more",
        this->name(), edges_text(this->options_.cropping), edge.low + edge.high, axis,
        sizes_text(input));
  }
};

template <int kRank>
LayerClass cropping_of_rank() {
  return layer_class<CroppingLayer<kRank>, CroppingOptions<kRank>>();
}

}  // namespace

LayerClass cropping1d_class() { return cropping_of_rank<1>(); }
LayerClass cropping2d_class() { return cropping_of_rank<2>(); }
LayerClass cropping3d_class() { return cropping_of_rank<3>(); }

template <int kRank>
Cropping<kRank>::Cropping(Edges cropping, CroppingOptions<kRank> options, Where where)
    : Layer([&] {
        options.cropping = std::move(cropping);
        return make_layer<CroppingLayer<kRank>>(std::move(options), where);
      }()) {}

template class Cropping<1>;
template class Cropping<2>;
template class Cropping<3>;

}  // namespace systole::keras::layers
