#include "systole/keras/testing/grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace systole::keras::testing {
namespace {

size_t offset_in(const Grid& g, int64_t b, const Place& at, int64_t channel) {
  return static_cast<size_t>(
      (((b * g.size[0] + at[0]) * g.size[1] + at[1]) * g.size[2] + at[2]) * g.channels + channel);
}

// The element of a kernel [window.., first, second].
double weight(const std::vector<double>& kernel, const Steps& steps, const Place& in_window,
              int64_t first, int64_t firsts, int64_t second, int64_t seconds) {
  const int64_t place =
      (in_window[0] * steps.window[1] + in_window[1]) * steps.window[2] + in_window[2];
  return kernel.at(static_cast<size_t>((place * firsts + first) * seconds + second));
}

// Calls f(b, window, channel) for all elements of a result.
void for_each_element(const Grid& g, const std::function<void(int64_t, const Place&, int64_t)>& f) {
  for (int64_t b = 0; b < g.batch; ++b) {
    for_each_place(g.size, [&](const Place& at) {
      for (int64_t c = 0; c < g.channels; ++c) f(b, at, c);
    });
  }
}

}  // namespace

Grid::Grid(int64_t batch, Place size, int64_t channels)
    : batch(batch),
      size(size),
      channels(channels),
      values(static_cast<size_t>(batch * size[0] * size[1] * size[2] * channels)) {}

bool Grid::contains(const Place& at) const {
  for (size_t i = 0; i < 3; ++i) {
    if (at[i] < 0 || at[i] >= size[i]) return false;
  }
  return true;
}

double& Grid::at(int64_t b, const Place& at, int64_t channel) {
  return values.at(offset_in(*this, b, at, channel));
}
double Grid::at(int64_t b, const Place& at, int64_t channel) const {
  return values.at(offset_in(*this, b, at, channel));
}
double Grid::at_or_0(int64_t b, const Place& place, int64_t channel) const {
  return contains(place) ? at(b, place, channel) : 0;
}

Grid grid_of(const Tensor& x, bool channels_first) {
  const int rank = x.rank() - 2;
  const int first = channels_first ? 2 : 1;
  Place size = {1, 1, 1};
  for (int i = 0; i < rank; ++i)
    size[static_cast<size_t>(3 - rank) + static_cast<size_t>(i)] = x.dim(first + i);
  Grid grid(x.dim(0), size, x.dim(channels_first ? 1 : rank + 1));
  int64_t next = 0;
  if (!channels_first) {
    for (double& value : grid.values) value = x.as_double(next++);
    return grid;
  }
  for (int64_t b = 0; b < grid.batch; ++b) {
    for (int64_t c = 0; c < grid.channels; ++c) {
      for_each_place(size, [&](const Place& at) { grid.at(b, at, c) = x.as_double(next++); });
    }
  }
  return grid;
}

Tensor tensor_of(const Grid& grid, int rank, bool channels_first) {
  Dims dims{grid.batch};
  for (int i = 0; i < rank; ++i)
    dims.push_back(grid.size[static_cast<size_t>(3 - rank) + static_cast<size_t>(i)]);
  dims.insert(channels_first ? dims.begin() + 1 : dims.end(), grid.channels);
  Tensor x(DType::f32, Shape(std::move(dims)));
  size_t next = 0;
  const auto put = [&](double value) { x.data<float>()[next++] = static_cast<float>(value); };
  if (!channels_first) {
    for (const double value : grid.values) put(value);
    return x;
  }
  for (int64_t b = 0; b < grid.batch; ++b) {
    for (int64_t c = 0; c < grid.channels; ++c) {
      for_each_place(grid.size, [&](const Place& at) { put(grid.at(b, at, c)); });
    }
  }
  return x;
}

Tensor noise(const Shape& shape, uint64_t seed) {
  Tensor x(DType::f32, shape);
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (float& value : x.data<float>()) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<float>(state >> 40U) / 8388608.0F - 1.0F;
  }
  return x;
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < want.shape().num_elements(); ++i) {
    ASSERT_NEAR(got.as_double(i), want.as_double(i), tolerance) << "at element " << i;
  }
}

void for_each_place(const Place& size, const std::function<void(const Place&)>& f) {
  Place at = {};
  for (at[0] = 0; at[0] < size[0]; ++at[0]) {
    for (at[1] = 0; at[1] < size[1]; ++at[1]) {
      for (at[2] = 0; at[2] < size[2]; ++at[2]) f(at);
    }
  }
}

int64_t Steps::count(size_t axis, int64_t n) const {
  const int64_t starts = padding == "valid" ? n - reach(axis) + 1 : n;
  return (starts + stride[axis] - 1) / stride[axis];
}

int64_t Steps::before(size_t axis, int64_t n) const {
  if (padding == "valid") return 0;
  if (padding == "causal") return reach(axis) - 1;
  return std::max<int64_t>((count(axis, n) - 1) * stride[axis] + reach(axis) - n, 0) / 2;
}

Place Steps::counts(const Place& size) const {
  return {count(0, size[0]), count(1, size[1]), count(2, size[2])};
}

Place Steps::source(const Place& size, const Place& window_number, const Place& in_window) const {
  Place at = {};
  for (size_t i = 0; i < 3; ++i) {
    at[i] = window_number[i] * stride[i] - before(i, size[i]) + in_window[i] * dilation[i];
  }
  return at;
}

Grid convolve(const Grid& x, const std::vector<double>& kernel, int64_t out, const Steps& steps) {
  Grid y(x.batch, steps.counts(x.size), out);
  for_each_element(y, [&](int64_t b, const Place& number, int64_t c) {
    for_each_place(steps.window, [&](const Place& in_window) {
      const Place at = steps.source(x.size, number, in_window);
      for (int64_t in = 0; in < x.channels; ++in) {
        y.at(b, number, c) +=
            x.at_or_0(b, at, in) * weight(kernel, steps, in_window, in, x.channels, c, out);
      }
    });
  });
  return y;
}

Grid convolve_each(const Grid& x, const std::vector<double>& kernel, int64_t multiplier,
                   const Steps& steps) {
  Grid y(x.batch, steps.counts(x.size), x.channels * multiplier);
  for_each_element(y, [&](int64_t b, const Place& number, int64_t c) {
    const int64_t in = c / multiplier;
    for_each_place(steps.window, [&](const Place& in_window) {
      y.at(b, number, c) +=
          x.at_or_0(b, steps.source(x.size, number, in_window), in) *
          weight(kernel, steps, in_window, in, x.channels, c % multiplier, multiplier);
    });
  });
  return y;
}

Grid convolve_transposed(const Grid& x, const std::vector<double>& kernel, int64_t out,
                         const Place& size, const Steps& steps) {
  Grid y(x.batch, size, out);
  for_each_element(x, [&](int64_t b, const Place& number, int64_t in) {
    for_each_place(steps.window, [&](const Place& in_window) {
      const Place at = steps.source(size, number, in_window);
      if (!y.contains(at)) return;
      for (int64_t c = 0; c < out; ++c) {
        y.at(b, at, c) +=
            x.at(b, number, in) * weight(kernel, steps, in_window, c, out, in, x.channels);
      }
    });
  });
  return y;
}

void add_to_channels(Grid& grid, const std::vector<double>& bias) {
  for_each_element(grid, [&](int64_t b, const Place& at, int64_t c) {
    grid.at(b, at, c) += bias.at(static_cast<size_t>(c));
  });
}

Grid pool(const Grid& x, bool largest, const Steps& steps) {
  Grid y(x.batch, steps.counts(x.size), x.channels);
  for_each_element(y, [&](int64_t b, const Place& number, int64_t c) {
    double most = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double count = 0;
    for_each_place(steps.window, [&](const Place& in_window) {
      const Place at = steps.source(x.size, number, in_window);
      if (!x.contains(at)) return;
      most = std::max(most, x.at(b, at, c));
      sum += x.at(b, at, c);
      count += 1;
    });
    y.at(b, number, c) = largest ? most : sum / count;
  });
  return y;
}

std::vector<double> doubles(const Tensor& x) {
  std::vector<double> values;
  for (int64_t i = 0; i < x.shape().num_elements(); ++i) values.push_back(x.as_double(i));
  return values;
}

}  // namespace systole::keras::testing
