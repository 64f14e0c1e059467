// Convolutions, pooling, padding, cropping and enlarging of sequences, images and volumes.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "systole/keras/layers/testing/layer_values.h"
#include "systole/keras/testing/grid.h"

namespace systole::keras::layers::testing {
namespace {

using keras::testing::add_to_channels;
using keras::testing::convolve;
using keras::testing::convolve_each;
using keras::testing::convolve_transposed;
using keras::testing::doubles;
using keras::testing::for_each_place;
using keras::testing::Grid;
using keras::testing::grid_of;
using keras::testing::pool;
using keras::testing::Steps;
using keras::testing::tensor_of;
using Place = keras::testing::Place;

bool channels_first(const Json& config) {
  return config.value("data_format", "channels_last") == "channels_first";
}

int rank_of(const LayerCallCase& c) { return c.inputs[0].rank() - 2; }

// The sizes of an argument along the last axes.
Place place_of(const LayerCallCase& c, const char* argument, int64_t otherwise) {
  Place place = {1, 1, 1};
  const int rank = rank_of(c);
  for (int i = 0; i < rank; ++i) {
    int64_t& size = place[static_cast<size_t>(3 - rank) + static_cast<size_t>(i)];
    size = otherwise;
    if (!c.config.contains(argument)) continue;
    const Json& given = c.config.at(argument);
    size =
        given.is_array() ? given.at(static_cast<size_t>(i)).get<int64_t>() : given.get<int64_t>();
  }
  return place;
}

Steps steps_of(const LayerCallCase& c) {
  return {.window = place_of(c, "kernel_size", 1),
          .stride = place_of(c, "strides", 1),
          .dilation = place_of(c, "dilation_rate", 1),
          .padding = c.config.value("padding", "valid")};
}

Grid input_grid(const LayerCallCase& c) { return grid_of(c.inputs[0], channels_first(c.config)); }

std::vector<Values> result(const LayerCallCase& c, const Grid& grid) {
  return {Values(tensor_of(grid, rank_of(c), channels_first(c.config)))};
}

// Adds the last weight as bias and applies the activation.
std::vector<Values> finished(const LayerCallCase& c, Grid y) {
  if (c.config.value("use_bias", true)) add_to_channels(y, doubles(c.weights.back()));
  for (double& value : y.values) {
    value = activated(c.config.value("activation", "linear"), value);
  }
  return result(c, y);
}

std::vector<Values> convolution(const LayerCallCase& c) {
  return finished(
      c, convolve(input_grid(c), doubles(c.weights[0]), c.config.at("filters"), steps_of(c)));
}

std::vector<Values> depthwise(const LayerCallCase& c) {
  return finished(c, convolve_each(input_grid(c), doubles(c.weights[0]),
                                   c.config.value("depth_multiplier", 1), steps_of(c)));
}

std::vector<Values> separable(const LayerCallCase& c) {
  const Grid each = convolve_each(input_grid(c), doubles(c.weights[0]),
                                  c.config.value("depth_multiplier", 1), steps_of(c));
  return finished(c, convolve(each, doubles(c.weights[1]), c.config.at("filters"), {}));
}

std::vector<Values> transposed(const LayerCallCase& c) {
  const Grid x = input_grid(c);
  const Steps steps = steps_of(c);
  const bool same = steps.padding == "same";
  const Place more = place_of(c, "output_padding", 0);
  Place size = {1, 1, 1};
  for (size_t i = 3 - static_cast<size_t>(rank_of(c)); i < 3; ++i) {
    const int64_t reach = steps.reach(i);
    size[i] = x.size[i] * steps.stride[i];
    if (c.config.contains("output_padding")) {
      size[i] = (x.size[i] - 1) * steps.stride[i] + reach - (same ? reach / 2 * 2 : 0) + more[i];
    } else if (!same) {
      size[i] += std::max<int64_t>(reach - steps.stride[i], 0);
    }
  }
  return finished(
      c, convolve_transposed(x, doubles(c.weights[0]), c.config.at("filters"), size, steps));
}

Formula pooled(bool largest) {
  return [largest](const LayerCallCase& c) {
    Steps steps = {.window = place_of(c, "pool_size", 2),
                   .padding = c.config.value("padding", "valid")};
    steps.stride = c.config.contains("strides") ? place_of(c, "strides", 1) : steps.window;
    return result(c, pool(input_grid(c), largest, steps));
  };
}

// Over all places, or those that the mask of a sequence leaves.
Formula pooled_globally(bool largest) {
  return [largest](const LayerCallCase& c) -> std::vector<Values> {
    const Grid x = input_grid(c);
    Values y({x.batch, x.channels});
    y.for_each([&](const std::vector<int64_t>& p) {
      double best = -INFINITY;
      double sum = 0;
      double count = 0;
      for_each_place(x.size, [&](const Place& at) {
        const auto b = static_cast<size_t>(p[0]);
        if (!c.mask.empty() && c.mask[b][at[2]] == 0) return;
        best = std::max(best, x.at(p[0], at, p[1]));
        sum += x.at(p[0], at, p[1]);
        ++count;
      });
      y.at(p) = largest ? best : sum / count;
    });
    return {y};
  };
}

// Elements before and after each of the last axes: 2, [1, 2] or [[1, 2], [3, 4]].
std::vector<std::pair<int64_t, int64_t>> edges_of(const LayerCallCase& c, const char* argument,
                                                  int64_t otherwise) {
  const auto rank = static_cast<size_t>(rank_of(c));
  const Json given = c.config.value(argument, Json(otherwise));
  std::vector<std::pair<int64_t, int64_t>> edges(3, {0, 0});
  for (size_t i = 0; i < rank; ++i) {
    auto& [low, high] = edges[3 - rank + i];
    const Json of_axis = given.is_array() && rank > 1 ? given.at(i) : given;
    low = of_axis.is_array() ? of_axis.at(0).get<int64_t>() : of_axis.get<int64_t>();
    high = of_axis.is_array() ? of_axis.at(1).get<int64_t>() : of_axis.get<int64_t>();
  }
  return edges;
}

// The input with `sign` times the edges more elements; zeros outside of it.
Formula resized(const char* argument, int sign) {
  return [argument, sign](const LayerCallCase& c) {
    const Grid x = input_grid(c);
    const bool image_cut = sign < 0 && rank_of(c) == 2;
    const auto edges = edges_of(c, argument, image_cut ? 0 : 1);
    Place size = x.size;
    for (size_t i = 0; i < 3; ++i) size[i] += sign * (edges[i].first + edges[i].second);
    Grid y(x.batch, size, x.channels);
    for_each_place(size, [&](const Place& at) {
      Place from = at;
      for (size_t i = 0; i < 3; ++i) from[i] -= sign * edges[i].first;
      for (int64_t b = 0; b < x.batch; ++b) {
        for (int64_t k = 0; k < x.channels; ++k) y.at(b, at, k) = x.at_or_0(b, from, k);
      }
    });
    return result(c, y);
  };
}

// Returns what resize_bilinear without aligned corners has: the place at / factor, between the
// neighbours.
double bilinear_at(const Grid& x, int64_t b, const Place& at, const Place& factor, int64_t k) {
  double value = 0;
  const auto share = [&](size_t axis, int64_t step) {
    const double place = static_cast<double>(at[axis]) / static_cast<double>(factor[axis]);
    const double fraction = place - std::floor(place);
    return step == 0 ? 1 - fraction : fraction;
  };
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t column = 0; column < 2; ++column) {
      const Place from = {0, std::min(at[1] / factor[1] + row, x.size[1] - 1),
                          std::min(at[2] / factor[2] + column, x.size[2] - 1)};
      value += share(1, row) * share(2, column) * x.at(b, from, k);
    }
  }
  return value;
}

// As TensorFlow 2 resizes: a pixel is where its centre is.
double half_pixel_at(const Grid& x, int64_t b, const Place& at, const Place& factor, int64_t k) {
  const auto place = [&](size_t axis) {
    return (static_cast<double>(at[axis]) + 0.5) / static_cast<double>(factor[axis]) - 0.5;
  };
  double value = 0;
  for (const int64_t row : {0, 1}) {
    for (const int64_t column : {0, 1}) {
      const auto pixel = [&](size_t axis, int64_t next) {
        return static_cast<int64_t>(std::floor(place(axis))) + next;
      };
      const auto share = [&](size_t axis, int64_t next) {
        return 1 - std::abs(place(axis) - static_cast<double>(pixel(axis, next)));
      };
      const Place from = {0, std::clamp<int64_t>(pixel(1, row), 0, x.size[1] - 1),
                          std::clamp<int64_t>(pixel(2, column), 0, x.size[2] - 1)};
      value += share(1, row) * share(2, column) * x.at(b, from, k);
    }
  }
  return value;
}

std::vector<Values> enlarged(const LayerCallCase& c) {
  const Grid x = input_grid(c);
  const Place factor = place_of(c, "size", 2);
  const bool bilinear = c.config.value("interpolation", "nearest") == "bilinear";
  const bool half_pixel = c.config.value("half_pixel_centers", false);
  Place size = x.size;
  for (size_t i = 0; i < 3; ++i) size[i] *= factor[i];
  Grid y(x.batch, size, x.channels);
  for_each_place(size, [&](const Place& at) {
    const Place from = {at[0] / factor[0], at[1] / factor[1], at[2] / factor[2]};
    for (int64_t b = 0; b < x.batch; ++b) {
      for (int64_t k = 0; k < x.channels; ++k) {
        y.at(b, at, k) = half_pixel ? half_pixel_at(x, b, at, factor, k)
                         : bilinear ? bilinear_at(x, b, at, factor, k)
                                    : x.at(b, from, k);
      }
    }
  });
  return result(c, y);
}

std::vector<std::vector<int64_t>> shape_of(int rank) {
  std::vector<int64_t> shape = {2, 6, 5, 4, 3};
  shape.erase(shape.begin() + 1, shape.begin() + 4 - rank);
  return {shape};
}

// A row in each data format that the layer has.
void add_both(LayerRows& rows, const std::string& name, int rank, Json config,
              const Formula& formula, bool has_format = true) {
  rows.push_back({name, config.dump(), shape_of(rank), formula});
  if (!has_format) return;
  config["data_format"] = "channels_first";
  rows.push_back({name, config.dump(), shape_of(rank), formula});
}

Json sizes(int rank, std::vector<int64_t> of_axes) {
  return std::vector<int64_t>(of_axes.end() - rank, of_axes.end());
}

// Rows with each argument at two values: plain, with strides, with dilation.
void add_convolution(LayerRows& rows, const std::string& name, int rank, const Formula& formula) {
  const bool multiplies = name.starts_with("Sep") || name.starts_with("Dep");
  const bool has_filters = !name.starts_with("Dep");
  const bool transposes = name.ends_with("Transpose");
  Json plain = {{"kernel_size", sizes(rank, {2, 3, 2})}};
  Json strided = {{"kernel_size", 2}, {"strides", 2}, {"padding", "same"}, {"activation", "tanh"}};
  Json dilated = {{"kernel_size", 2}, {"dilation_rate", 2}, {"use_bias", false}};
  if (transposes) strided["output_padding"] = 1;
  if (has_filters) {
    plain["filters"] = 3;
    strided["filters"] = dilated["filters"] = 2;
  }
  if (multiplies) strided["depth_multiplier"] = 2;
  for (const Json& config : {plain, strided, dilated}) add_both(rows, name, rank, config, formula);
  if (rank == 1) {
    plain["padding"] = "causal";
    add_both(rows, name, rank, plain, formula);
  }
}

void add_pooling(LayerRows& rows, int rank) {
  const std::string suffix = std::to_string(rank) + "D";
  for (const bool largest : {true, false}) {
    const std::string kind = largest ? "Max" : "Average";
    for (const Json& config :
         {Json::object(), Json({{"pool_size", 3}, {"padding", "same"}}),
          Json({{"pool_size", sizes(rank, {2, 3, 2})}, {"strides", sizes(rank, {1, 2, 1})}})}) {
      add_both(rows, fmt::format("{}Pooling{}", kind, suffix), rank, config, pooled(largest));
    }
    add_both(rows, fmt::format("Global{}Pooling{}", kind, suffix), rank, Json::object(),
             pooled_globally(largest));
  }
  if (rank > 1) return;
  for (const bool largest : {true, false}) {
    rows.push_back({largest ? "GlobalMaxPooling1D" : "GlobalAveragePooling1D", "{}", shape_of(1),
                    pooled_globally(largest), true});
  }
}

void add_resizing(LayerRows& rows, int rank) {
  const std::string suffix = std::to_string(rank) + "D";
  const bool has_format = rank > 1;
  Json pairs = {{0, 1}, {2, 0}, {1, 1}};
  pairs.erase(pairs.begin(), pairs.begin() + (3 - rank));
  if (rank == 1) pairs = {1, 2};
  for (const auto& [name, argument, sign] :
       {std::tuple("ZeroPadding", "padding", 1), std::tuple("Cropping", "cropping", -1)}) {
    for (const Json& given : {Json(), Json(1), pairs}) {
      const Json config = given.is_null() ? Json::object() : Json({{argument, given}});
      add_both(rows, name + suffix, rank, config, resized(argument, sign), has_format);
    }
  }
  add_both(rows, "UpSampling" + suffix, rank, Json::object(), enlarged, has_format);
  add_both(rows, "UpSampling" + suffix, rank,
           {{"size", rank == 1 ? Json(3) : sizes(rank, {1, 2, 3})}}, enlarged, has_format);
  if (rank == 2) {
    add_both(rows, "UpSampling2D", rank, {{"size", {2, 3}}, {"interpolation", "bilinear"}},
             enlarged);
    add_both(rows, "UpSampling2D", rank,
             {{"size", {2, 3}}, {"interpolation", "bilinear"}, {"half_pixel_centers", true}},
             enlarged);
  }
}

}  // namespace

void add_space_rows(LayerRows& rows) {
  add_convolution(rows, "Conv1D", 1, convolution);
  add_convolution(rows, "Conv2D", 2, convolution);
  add_convolution(rows, "Conv3D", 3, convolution);
  add_convolution(rows, "SeparableConv1D", 1, separable);
  add_convolution(rows, "SeparableConv2D", 2, separable);
  add_convolution(rows, "DepthwiseConv2D", 2, depthwise);
  add_convolution(rows, "Conv2DTranspose", 2, transposed);
  add_convolution(rows, "Conv3DTranspose", 3, transposed);
  for (const int rank : {1, 2, 3}) {
    add_pooling(rows, rank);
    add_resizing(rows, rank);
  }
}

}  // namespace systole::keras::layers::testing
