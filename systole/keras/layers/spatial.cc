#include "systole/keras/layers/spatial.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "systole/base/error.h"
#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer_class.h"

namespace systole::keras::layers {

std::string SpatialAxes::op_format() const {
  if (rank == 3) return channels_first ? "NCDHW" : "NDHWC";
  return channels_first ? "NCHW" : "NHWC";
}

SpatialAxes spatial_axes(int rank, const std::optional<std::string>& data_format) {
  return {.rank = rank, .channels_first = data_format == "channels_first"};
}

void normalize_data_format(std::string_view layer, std::optional<std::string>& data_format) {
  if (!data_format) data_format = "channels_last";
  std::ranges::transform(*data_format, data_format->begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (*data_format == "channels_last" || *data_format == "channels_first") return;
  throw invalid_argument("{}: data_format, got '{}', expected 'channels_last' or 'channels_first'",
                         layer, *data_format);
}

void normalize_padding(std::string_view layer, std::string& padding, bool causal) {
  std::ranges::transform(padding, padding.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (padding == "valid" || padding == "same" || (causal && padding == "causal")) return;
  throw invalid_argument("{}: padding, got '{}', expected {}", layer, padding,
                         causal ? "'valid', 'same' or 'causal'" : "'valid' or 'same'");
}

void normalize_sizes(std::string_view layer, std::string_view argument, Sizes& sizes, int rank,
                     int64_t least) {
  sizes = Sizes(sizes.of_rank(static_cast<size_t>(rank), argument));
  const auto fits = [&](int64_t size) { return size >= least && size <= kMaxLayerSize; };
  if (std::ranges::all_of(sizes.values, fits)) return;
  throw invalid_argument("{}: {}, got {}, expected {} or more", layer, argument,
                         tuple_text(sizes.values), least);
}

std::string tuple_text(const std::vector<int64_t>& values) {
  return fmt::format("({}{})", fmt::join(values, ", "), values.size() == 1 ? "," : "");
}

int64_t known_channels(const LayerDefinition& layer, const SpatialAxes& axes, const Shape& input) {
  const int64_t channels = input[axes.channels()];
  if (channels >= 0) return channels;
  throw invalid_argument(
      "{}: the channel dimension of the inputs should be defined. Found `None`. Full shape "
      "received: {}",
      layer.name(), sizes_text(input));
}

void check_window_fits(const LayerDefinition& layer, std::string_view argument,
                       const SpatialAxes& axes, const Shape& input,
                       const std::vector<int64_t>& window) {
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t size = input[axes.spatial(static_cast<int>(i))];
    if (size < 0 || size >= window[i]) continue;
    throw invalid_argument(
        "{}: {} covers {} elements, got an input of shape {}, expected sizes that are at least as "
        "large, or padding 'same'",
        layer.name(), argument, tuple_text(window), sizes_text(input));
  }
}

Output widened(const SpatialAxes& axes, const Output& x) {
  return axes.rank == 1 ? expand_dims(x, axes.spatial(0)) : x;
}

Output narrowed(const SpatialAxes& axes, const Output& x) {
  return axes.rank == 1 ? squeeze(x, {.axis = axes.spatial(0)}) : x;
}

std::vector<int64_t> widened(const Sizes& sizes) {
  return sizes.values.size() == 1 ? std::vector<int64_t>{1, sizes.values[0]} : sizes.values;
}

}  // namespace systole::keras::layers
