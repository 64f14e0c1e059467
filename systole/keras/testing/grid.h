// Sequences, images and volumes in double, and the plain loops that convolutions and pooling are
// compared with. Sequences are volumes of size {1, 1, n}, images of size {1, h, w}.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::keras::testing {

using Place = std::array<int64_t, 3>;

// [batch, sizes, channels].
struct Grid {
  Grid(int64_t batch, Place size, int64_t channels);

  int64_t batch;
  Place size;
  int64_t channels;
  std::vector<double> values;

  bool contains(const Place& at) const;
  // REQUIRES: contains(at).
  double& at(int64_t b, const Place& at, int64_t channel);
  double at(int64_t b, const Place& at, int64_t channel) const;
  double at_or_0(int64_t b, const Place& at, int64_t channel) const;
};

// x: [batch, sizes.., channels] or [batch, channels, sizes..], of at most three sizes.
Grid grid_of(const Tensor& x, bool channels_first);
// f32, with `rank` sizes.
Tensor tensor_of(const Grid& grid, int rank, bool channels_first);
// f32 values between -1 and 1, a function of shape and seed.
Tensor noise(const Shape& shape, uint64_t seed);
// Expects |got - want| <= tolerance for all elements.
void expect_near(const Tensor& got, const Tensor& want, double tolerance = 1e-5);

void for_each_place(const Place& size, const std::function<void(const Place&)>& f);

// How a window moves.
struct Steps {
  Place window = {1, 1, 1};
  Place stride = {1, 1, 1};
  Place dilation = {1, 1, 1};
  std::string padding = "valid";

  int64_t reach(size_t axis) const { return (window[axis] - 1) * dilation[axis] + 1; }
  // The number of windows along an axis of `n` elements, and the elements of padding before it.
  int64_t count(size_t axis, int64_t n) const;
  int64_t before(size_t axis, int64_t n) const;
  Place counts(const Place& size) const;
  // The place in an input of `size` of a window's element.
  Place source(const Place& size, const Place& window_number, const Place& in_window) const;
};

// kernel: [window.., in, out] in row-major order.
Grid convolve(const Grid& x, const std::vector<double>& kernel, int64_t out, const Steps& steps);
// kernel: [window.., in, multiplier].
Grid convolve_each(const Grid& x, const std::vector<double>& kernel, int64_t multiplier,
                   const Steps& steps);
// The gradient of convolve() by its input: kernel [window.., out, in], the result of `size`.
Grid convolve_transposed(const Grid& x, const std::vector<double>& kernel, int64_t out,
                         const Place& size, const Steps& steps);
void add_to_channels(Grid& grid, const std::vector<double>& bias);
// The largest or the mean of the elements of each window that lie in x.
Grid pool(const Grid& x, bool largest, const Steps& steps);

std::vector<double> doubles(const Tensor& x);

}  // namespace systole::keras::testing
