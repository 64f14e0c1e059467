#include "apps/systole/data/thumbnails.h"

#include <algorithm>
#include <cmath>

#include "systole/io/images/image.h"

namespace systole::app {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 24U;

int64_t int64_or(const ExampleView& example, std::string_view key, int64_t otherwise) {
  const FeatureView* feature = example.find(key);
  int64_t value = 0;
  const bool there = feature != nullptr && feature->kind() == FeatureKind::int64s &&
                     feature->copy(std::span(&value, 1)) == 1;
  return there ? value : otherwise;
}

// The shape of the `count` pixel values of an example; alpha is the last of 2 or 4 channels. Empty
// if the example has no shape.
std::optional<Shape> pixel_shape(const ExampleView& example, int64_t count) {
  const int64_t height = int64_or(example, "height", 0);
  const int64_t width = int64_or(example, "width", 0);
  const int64_t depth = int64_or(example, "depth", 1);
  const bool bounded = height > 0 && width > 0 && height <= kMaxPixels && width <= kMaxPixels;
  if (bounded && depth >= 1 && depth <= 4) {
    if (height * width * depth != count || count > kMaxPixels) return std::nullopt;
    return Shape{height, width, depth};
  }
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(count))));
  if (side < 4 || side * side != count || count > kMaxPixels) return std::nullopt;
  return Shape{side, side, 1};
}

// Drops the alpha channel.
Tensor without_alpha(const Tensor& image) {
  const int64_t depth = image.dim(2);
  if (depth % 2 == 1) return image;
  const auto kept = static_cast<size_t>(depth - 1);
  Tensor out(DType::u8, {image.dim(0), image.dim(1), depth - 1});
  const auto from = image.data<uint8_t>();
  const auto to = out.data<uint8_t>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i / kept * (kept + 1) + i % kept];
  return out;
}

std::optional<Tensor> encoded_image(const ExampleView& example) {
  for (const auto& [key, feature] : example.entries()) {
    std::string_view value;
    if (feature.kind() != FeatureKind::bytes || feature.copy(std::span(&value, 1)) != 1) continue;
    const ImageFormat format = sniff_image(value);
    if (format != ImageFormat::jpeg && format != ImageFormat::png) continue;
    try {
      const ImageInfo info = read_image_info(value);
      return decode_image(value, info.channels == 1 ? 1 : 3, {.max_bytes = 3 * kMaxPixels});
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): broken or huge, no image to show
    }
  }
  return std::nullopt;
}

std::optional<Tensor> raw_bytes_image(const ExampleView& example) {
  for (const auto& [key, feature] : example.entries()) {
    std::string_view value;
    if (feature.kind() != FeatureKind::bytes || feature.copy(std::span(&value, 1)) != 1) continue;
    const auto shape = pixel_shape(example, static_cast<int64_t>(value.size()));
    if (!shape) continue;
    Tensor image(DType::u8, *shape);
    std::ranges::copy(value, static_cast<char*>(image.raw()));
    return without_alpha(image);
  }
  return std::nullopt;
}

// Scales floats from [minimum, maximum] to [0, 255].
std::optional<Tensor> float_image(const ExampleView& example) {
  for (const auto& [key, feature] : example.entries()) {
    if (feature.kind() != FeatureKind::floats) continue;
    std::vector<float> values;
    feature.append_to(values);
    const auto shape = pixel_shape(example, static_cast<int64_t>(values.size()));
    if (!shape) continue;
    const auto [low, high] = std::ranges::minmax(values);
    const float range = high > low ? high - low : 1;
    Tensor image(DType::u8, *shape);
    std::ranges::transform(values, image.data<uint8_t>().begin(), [&, low = low](float value) {
      const float scaled = 255 * (value - low) / range;
      return static_cast<uint8_t>(scaled >= 0 && scaled <= 255 ? scaled : 0);
    });
    return without_alpha(image);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Tensor> image_of(const ExampleView& example) {
  if (auto image = encoded_image(example)) return image;
  if (auto image = raw_bytes_image(example)) return image;
  return float_image(example);
}

}  // namespace systole::app
