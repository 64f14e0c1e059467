#include "systole/graph/ops/nn/window_geometry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "systole/graph/core/node_builder.h"

namespace systole {
namespace {

template <class T>
const T& attr(const AttrMap& attrs, std::string_view name) {
  const auto it = attrs.find(name);
  if (it == attrs.end() || !std::holds_alternative<T>(it->second)) {
    throw invalid_argument("attribute '{}', got none or one of another kind, expected one", name);
  }
  return std::get<T>(it->second);
}

}  // namespace

DataFormat::DataFormat(std::string_view name, int num_spatial) : num_spatial(num_spatial) {
  const bool images = num_spatial == 2;
  const std::string_view last = images ? "NHWC" : "NDHWC";
  const std::string_view first = images ? "NCHW" : "NCDHW";
  if (name != last && name != first) {
    throw invalid_argument("data_format, got '{}', expected '{}' or '{}'", name, last, first);
  }
  channels = name == first ? 1 : num_spatial + 1;
}

std::vector<int64_t> spatial_sizes(std::string_view what, std::span<const int64_t> values,
                                   const DataFormat& format) {
  const auto bad = [&](std::string_view expected) {
    return invalid_argument("{}, got [{}], expected {}", what, fmt::join(values, ", "), expected);
  };
  if (std::ranges::any_of(values, [](int64_t v) { return v < 1; })) throw bad("positive numbers");
  const auto spatial = static_cast<size_t>(format.num_spatial);
  if (values.size() == 1) return std::vector<int64_t>(spatial, values[0]);
  if (values.size() == spatial) return {values.begin(), values.end()};
  if (values.size() != spatial + 2) {
    throw bad(spatial == 2 ? "one number, two, or four" : "one number, three, or five");
  }
  if (values[0] != 1 || values[format.channels] != 1) {
    throw bad("1 for the batch and the channels");
  }
  const auto first = values.begin() + format.spatial(0);
  return {first, first + format.num_spatial};
}

std::vector<int64_t> all_sizes(std::span<const int64_t> spatial, const DataFormat& format) {
  std::vector<int64_t> all(static_cast<size_t>(format.rank()), 1);
  std::ranges::copy(spatial, all.begin() + format.spatial(0));
  return all;
}

std::string_view padding_name(Padding padding) {
  return padding == Padding::same ? "SAME" : "VALID";
}

Padding::Padding(const char* text, Input::Where where) : kind_(valid) {
  try {
    kind_ = padding_from_string(text);
  } catch (const Error& error) {
    throw at_line(error, where);
  }
}

Padding padding_from_string(std::string_view text) {
  if (text == "SAME" || text == "same") return Padding::same;
  if (text == "VALID" || text == "valid") return Padding::valid;
  throw invalid_argument("padding, got '{}', expected 'SAME' or 'VALID'", text);
}

int64_t WindowAxis::output() const {
  if (input == kUnknown) return kUnknown;
  if (padding == Padding::same) return (input + stride - 1) / stride;
  if (input < effective_window()) {
    throw invalid_argument(
        "window of {} with dilation {}, got an input of {}, expected at least {}", window, dilation,
        input, effective_window());
  }
  return (input - effective_window()) / stride + 1;
}

std::pair<int64_t, int64_t> WindowAxis::pads() const {
  if (padding == Padding::valid) return {0, 0};
  const int64_t total = std::max<int64_t>((output() - 1) * stride + effective_window() - input, 0);
  return {total / 2, total - total / 2};
}

Shape SpatialWindow::output_shape(const Shape& input, int64_t channels) const {
  Shape shape = input;
  shape.set_dim(format.channels, channels);
  for (size_t i = 0; i < axes.size(); ++i) shape.set_dim(format.spatial(i), axes[i].output());
  return shape;
}

SpatialWindow spatial_window(const AttrMap& attrs, const Shape& input,
                             std::span<const int64_t> window) {
  const DataFormat format(attr<std::string>(attrs, "data_format"), static_cast<int>(window.size()));
  const Padding padding = padding_from_string(attr<std::string>(attrs, "padding"));
  const auto sizes = [&](std::string_view name) {
    return spatial_sizes(name, attr<std::vector<int64_t>>(attrs, name), format);
  };
  const std::vector<int64_t> strides = sizes("strides");
  const std::vector<int64_t> dilations =
      attrs.contains("dilations") ? sizes("dilations") : std::vector<int64_t>(window.size(), 1);
  SpatialWindow result{.format = format, .axes = {}};
  for (size_t i = 0; i < window.size(); ++i) {
    result.axes.push_back({.input = input[format.spatial(i)],
                           .window = window[i],
                           .stride = strides[i],
                           .dilation = dilations[i],
                           .padding = padding});
  }
  return result;
}

SpatialWindow pool_window(const AttrMap& attrs, const Shape& input) {
  if (input.rank() != 4 && input.rank() != 5) {
    throw invalid_argument("value, got {}, expected rank 4 or 5", input);
  }
  const DataFormat format(attr<std::string>(attrs, "data_format"), input.rank() - 2);
  return spatial_window(attrs, input,
                        spatial_sizes("ksize", attr<std::vector<int64_t>>(attrs, "ksize"), format));
}

hlo::WindowAttrs pool_attrs(const SpatialWindow& window) {
  const auto rank = static_cast<size_t>(window.format.rank());
  hlo::WindowAttrs attrs;
  attrs.window_dimensions.assign(rank, 1);
  attrs.window_strides.assign(rank, 1);
  attrs.base_dilations.assign(rank, 1);
  attrs.window_dilations.assign(rank, 1);
  attrs.padding.assign(rank, {0, 0});
  for (size_t i = 0; i < window.axes.size(); ++i) {
    const auto axis = static_cast<size_t>(window.format.spatial(i));
    const WindowAxis& from = window.axes[i];
    attrs.window_dimensions[axis] = from.window;
    attrs.window_strides[axis] = from.stride;
    attrs.padding[axis] = from.pads();
  }
  return attrs;
}

}  // namespace systole
