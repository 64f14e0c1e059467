#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/edges.h"

namespace systole::keras::layers {
namespace {

// x with each element `times[i]` times along axis i: a new axis after each, repeated, then merged.
Output repeated(const Output& x, const std::vector<int64_t>& times) {
  std::vector<int64_t> multiples;
  std::vector<Output> sizes;
  Output spread = x;
  for (size_t i = 0; i < times.size(); ++i) {
    const auto axis = static_cast<int>(i);
    const auto times32 = static_cast<int32_t>(times[i]);
    const int64_t size = x.shape()[axis];
    multiples.push_back(1);
    sizes.push_back(size >= 0 ? constant(static_cast<int32_t>(size) * times32)
                              : gather(shape(x), axis) * times32);
    if (times[i] == 1) continue;
    spread = expand_dims(spread, static_cast<int64_t>(multiples.size()));
    multiples.push_back(times[i]);
  }
  return reshape(tile(spread, multiples), stack(sizes));
}

Output enlarged_bilinearly(const LayerDefinition& layer, const SpatialAxes& axes, const Output& x,
                           const UpSamplingOptions& options) {
  const Sizes& size = options.size;
  const int64_t height = x.shape()[axes.spatial(0)];
  const int64_t width = x.shape()[axes.spatial(1)];
  if (height < 0 || width < 0) {
    throw invalid_argument(
        "{}: interpolation 'bilinear', got an input of shape {}, expected a known height and width",
        layer.name(), sizes_text(x.shape()));
  }
  const image::Size enlarged{.height = height * size.values[0], .width = width * size.values[1]};
  const image::ResizeOptions resize{.half_pixel_centers = options.half_pixel_centers};
  if (!axes.channels_first) return image::resize_bilinear(x, enlarged, resize);
  const Output image = transpose(x, {.perm = {0, 2, 3, 1}});
  return transpose(image::resize_bilinear(image, enlarged, resize), {.perm = {0, 3, 1, 2}});
}

UpSamplingOptions normalized_up_sampling(std::string_view layer, int rank, UpSamplingOptions o) {
  normalize_sizes(layer, "size", o.size, rank);
  normalize_image_format(layer, o.data_format, rank);
  if (o.interpolation != "nearest" && (rank != 2 || o.interpolation != "bilinear")) {
    throw invalid_argument("{}: interpolation, got '{}', expected {}", layer, o.interpolation,
                           rank == 2 ? "'nearest' or 'bilinear'" : "'nearest'");
  }
  return o;
}

template <int kRank>
class UpSamplingLayer : public LayerOf<UpSamplingLayer<kRank>, UpSamplingOptions> {
 public:
  static constexpr std::string_view kClassName = kRank == 1   ? "UpSampling1D"
                                                 : kRank == 2 ? "UpSampling2D"
                                                              : "UpSampling3D";
  static std::vector<Field<UpSamplingOptions>> fields() {
    using O = UpSamplingOptions;
    if (kRank == 1) return {one_size()};
    std::vector<Field<O>> all = {field("size", &O::size), field("data_format", &O::data_format)};
    if (kRank != 2) return all;
    all.push_back(field("interpolation", &O::interpolation));
    all.push_back(field("half_pixel_centers", &O::half_pixel_centers));
    return all;
  }

  explicit UpSamplingLayer(UpSamplingOptions options)
      : LayerOf<UpSamplingLayer<kRank>, UpSamplingOptions>(
            normalized_up_sampling(kClassName, kRank, std::move(options))) {
    this->input_specs_ = {{.ndim = kRank + 2}};
  }

  Json config() const override {
    Json json = LayerOf<UpSamplingLayer<kRank>, UpSamplingOptions>::config();
    if (!this->options_.half_pixel_centers) json.erase("half_pixel_centers");
    return json;
  }

  std::vector<Output> call(CallContext&, const std::vector<Output>& inputs) override {
    const UpSamplingOptions& o = this->options_;
    const SpatialAxes axes = spatial_axes(kRank, o.data_format);
    const Output& x = inputs.at(0);
    if (o.interpolation == "bilinear") return {enlarged_bilinearly(*this, axes, x, o)};
    std::vector<int64_t> times(kRank + 2, 1);
    for (int i = 0; i < kRank; ++i) {
      times[axes.spatial(i)] = o.size.values[i];
    }
    return {repeated(x, times)};
  }

 private:
  // Keras writes the size of sequences as a number.
  static Field<UpSamplingOptions> one_size() {
    return {.name = "size",
            .type = std::string(JsonType<int64_t>::name),
            .get = [](const UpSamplingOptions& o) { return Json(o.size.values.at(0)); },
            .set = [](UpSamplingOptions& o,
                      const Json& json) { o.size = JsonType<int64_t>::from_json(json); }};
  }
};

template <int kRank>
LayerClass up_sampling_of_rank() {
  return layer_class<UpSamplingLayer<kRank>, UpSamplingOptions>();
}

}  // namespace

LayerClass up_sampling1d_class() { return up_sampling_of_rank<1>(); }
LayerClass up_sampling2d_class() { return up_sampling_of_rank<2>(); }
LayerClass up_sampling3d_class() { return up_sampling_of_rank<3>(); }

template <int kRank>
UpSampling<kRank>::UpSampling(Sizes size, UpSamplingOptions options, Where where)
    : Layer([&] {
        options.size = std::move(size);
        return make_layer<UpSamplingLayer<kRank>>(std::move(options), where);
      }()) {}

template class UpSampling<1>;
template class UpSampling<2>;
template class UpSampling<3>;

}  // namespace systole::keras::layers
