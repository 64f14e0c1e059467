#include "systole/keras/layers/spatial_dropout.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/keras/base/counters.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/edges.h"

namespace systole::keras::layers {
namespace {

SpatialDropoutOptions normalized_spatial_dropout(std::string_view layer, int rank,
                                                 SpatialDropoutOptions o) {
  normalize_image_format(layer, o.data_format, rank);
  if (o.rate >= 0 && o.rate < 1) return o;
  throw invalid_argument("{}: rate, got {}, expected a number in [0, 1)", layer, o.rate);
}

template <int kRank>
class SpatialDropoutLayer : public LayerOf<SpatialDropoutLayer<kRank>, SpatialDropoutOptions> {
 public:
  static constexpr std::string_view kClassName = kRank == 1   ? "SpatialDropout1D"
                                                 : kRank == 2 ? "SpatialDropout2D"
                                                              : "SpatialDropout3D";
  static std::vector<Field<SpatialDropoutOptions>> fields() {
    using O = SpatialDropoutOptions;
    if (kRank == 1) return {required("rate", &O::rate), field("seed", &O::seed)};
    return {required("rate", &O::rate), field("seed", &O::seed),
            field("data_format", &O::data_format)};
  }

  explicit SpatialDropoutLayer(SpatialDropoutOptions options)
      : LayerOf<SpatialDropoutLayer<kRank>, SpatialDropoutOptions>(
            normalized_spatial_dropout(kClassName, kRank, std::move(options))),
        axes_(spatial_axes(kRank, this->options_.data_format)),
        seed_(this->options_.seed ? *this->options_.seed : next_seed()) {
    this->input_specs_ = {{.ndim = kRank + 2}};
  }

  MaskSupport mask_support() const override { return MaskSupport::pass; }

  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output& x = inputs.at(0);
    if (!context.training() || this->options_.rate == 0) return {identity(x)};
    std::vector<Output> sizes(kRank + 2, constant(int32_t{1}));
    for (const int axis : {0, axes_.channels()}) {
      sizes[axis] = gather(shape(x), axis);
    }
    const Output noise = ones(stack(sizes), x.dtype());
    return {x * dropout(noise, 1 - this->options_.rate, {.seed = seed_})};
  }

 private:
  const SpatialAxes axes_;
  int64_t seed_;
};

// Keras writes the arguments of Dropout; noise_shape is always null.
template <int kRank>
LayerClass spatial_dropout_of_rank() {
  LayerClass made = layer_class<SpatialDropoutLayer<kRank>, SpatialDropoutOptions>();
  made.from_config = [from_config = made.from_config](const Json& given) {
    Json config = given;
    const auto noise_shape = config.find("noise_shape");
    if (noise_shape != config.end() && noise_shape->is_null()) config.erase(noise_shape);
    return from_config(config);
  };
  return made;
}

}  // namespace

LayerClass spatial_dropout1d_class() { return spatial_dropout_of_rank<1>(); }
LayerClass spatial_dropout2d_class() { return spatial_dropout_of_rank<2>(); }
LayerClass spatial_dropout3d_class() { return spatial_dropout_of_rank<3>(); }

template <int kRank>
SpatialDropout<kRank>::SpatialDropout(double rate, SpatialDropoutOptions options, Where where)
    : Layer([&] {
        options.rate = rate;
        return make_layer<SpatialDropoutLayer<kRank>>(std::move(options), where);
      }()) {}

template class SpatialDropout<1>;
template class SpatialDropout<2>;
template class SpatialDropout<3>;

}  // namespace systole::keras::layers
