#include "systole/graph/ops/nn/window_geometry.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "systole/graph/api/node_builder.h"

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

DataFormat::DataFormat(std::string_view name)
    : channels(name == "NCHW" ? 1 : 3), spatial{name == "NCHW" ? 2 : 1, name == "NCHW" ? 3 : 2} {
  if (name != "NHWC" && name != "NCHW") {
    throw invalid_argument("data_format, got '{}', expected 'NHWC' or 'NCHW'", name);
  }
}

std::pair<int64_t, int64_t> spatial_pair(std::string_view what, std::span<const int64_t> values,
                                         const DataFormat& format) {
  const auto bad = [&](std::string_view expected) {
    return invalid_argument("{}, got [{}], expected {}", what, fmt::join(values, ", "), expected);
  };
  if (std::ranges::any_of(values, [](int64_t v) { return v < 1; })) throw bad("positive numbers");
  switch (values.size()) {
    case 1:
      return {values[0], values[0]};
    case 2:
      return {values[0], values[1]};
    case 4:
      if (values[0] != 1 || values[static_cast<size_t>(format.channels)] != 1) {
        throw bad("1 for the batch and the channels");
      }
      return {values[static_cast<size_t>(format.spatial[0])],
              values[static_cast<size_t>(format.spatial[1])]};
    default:
      throw bad("one number, two, or four");
  }
}

std::vector<int64_t> four_numbers(std::pair<int64_t, int64_t> pair, const DataFormat& format) {
  std::vector<int64_t> four(4, 1);
  four[static_cast<size_t>(format.spatial[0])] = pair.first;
  four[static_cast<size_t>(format.spatial[1])] = pair.second;
  return four;
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

Shape ImageWindow::output_shape(const Shape& input, int64_t channels) const {
  Shape shape = input;
  shape.set_dim(format.channels, channels);
  for (int i = 0; i < 2; ++i) shape.set_dim(format.spatial[i], axis[i].output());
  return shape;
}

ImageWindow image_window(const AttrMap& attrs, const Shape& input,
                         std::pair<int64_t, int64_t> window) {
  const DataFormat format(attr<std::string>(attrs, "data_format"));
  const Padding padding = padding_from_string(attr<std::string>(attrs, "padding"));
  const auto strides =
      spatial_pair("strides", attr<std::vector<int64_t>>(attrs, "strides"), format);
  std::pair<int64_t, int64_t> dilations{1, 1};
  if (attrs.contains("dilations")) {
    dilations = spatial_pair("dilations", attr<std::vector<int64_t>>(attrs, "dilations"), format);
  }
  return {format,
          {{input[format.spatial[0]], window.first, strides.first, dilations.first, padding},
           {input[format.spatial[1]], window.second, strides.second, dilations.second, padding}}};
}

ImageWindow pool_window(const AttrMap& attrs, const Shape& input) {
  if (input.rank() != 4) throw invalid_argument("value, got {}, expected rank 4", input);
  const DataFormat format(attr<std::string>(attrs, "data_format"));
  return image_window(attrs, input,
                      spatial_pair("ksize", attr<std::vector<int64_t>>(attrs, "ksize"), format));
}

hlo::WindowAttrs pool_attrs(const ImageWindow& window) {
  hlo::WindowAttrs attrs;
  attrs.window_dimensions.assign(4, 1);
  attrs.window_strides.assign(4, 1);
  attrs.base_dilations.assign(4, 1);
  attrs.window_dilations.assign(4, 1);
  attrs.padding.assign(4, {0, 0});
  for (int i = 0; i < 2; ++i) {
    const auto axis = static_cast<size_t>(window.format.spatial[i]);
    attrs.window_dimensions[axis] = window.axis[i].window;
    attrs.window_strides[axis] = window.axis[i].stride;
    attrs.padding[axis] = window.axis[i].pads();
  }
  return attrs;
}

}  // namespace systole
