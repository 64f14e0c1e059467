#include "systole/tpu_v1/machine/activation.h"

#include <algorithm>
#include <cmath>

#include "systole/base/error.h"
#include "systole/base/thread_pool.h"

namespace systole::tpu_v1 {
namespace {

constexpr int kTableSize = 1 << 16;

// As StableHLO's reference computes functions of f32: exactly, then rounded.
float function_value(bool sigmoid, int input) {
  const double x = std::ldexp(static_cast<double>(input), -kFunctionInputBits);
  if (!sigmoid) return static_cast<float>(std::tanh(x));
  const double e = std::exp(-std::abs(x));
  return static_cast<float>((x < 0 ? e : 1) / (1 + e));
}

// Results in units of 1 / scale, as uniform_quantize rounds f32.
std::vector<int16_t> function_table(bool sigmoid, float scale, float zero, float least,
                                    float most) {
  std::vector<int16_t> table(kTableSize);
  for (int i = 0; i < kTableSize; ++i) {
    const float value = scale * function_value(sigmoid, i - kTableSize / 2) + zero;
    table[i] = static_cast<int16_t>(std::nearbyint(std::clamp(value, least, most)));
  }
  return table;
}

const std::vector<int16_t>& table_of(int64_t flags) {
  static const auto sigmoid8 = function_table(true, 256, -128, -128, 127);
  static const auto sigmoid_u8 = function_table(true, 256, 0, 0, 255);
  static const auto sigmoid16 = function_table(true, 32768, 0, -32768, 32767);
  static const auto tanh8 = function_table(false, 128, 0, -128, 127);
  static const auto tanh16 = function_table(false, 32768, 0, -32768, 32767);
  const bool wide = (flags & kOutput16) != 0;
  if ((flags & kTanh) != 0) return wide ? tanh16 : tanh8;
  if (wide) return sigmoid16;
  return (flags & kUnsignedOutput) != 0 ? sigmoid_u8 : sigmoid8;
}

int32_t rounded_average(int64_t sum, int64_t count) {
  return static_cast<int32_t>(sum >= 0 ? (sum + count / 2) / count : (sum - count / 2) / count);
}

}  // namespace

int32_t hardwired_function(int64_t flags, int32_t input) {
  const int32_t index = std::clamp(input, -kTableSize / 2, kTableSize / 2 - 1) + kTableSize / 2;
  return table_of(flags)[index];
}

Bounds result_bounds(int64_t flags) {
  if ((flags & kOutput16) != 0) return {INT16_MIN, INT16_MAX};
  if ((flags & kUnsignedOutput) != 0) return {0, UINT8_MAX};
  return {INT8_MIN, INT8_MAX};
}

int32_t finish_value(int32_t value, int64_t flags, const Registers& registers) {
  if ((flags & (kSigmoid | kTanh)) != 0) return hardwired_function(flags, value);
  if ((flags & kRelu) != 0) value = std::max(value, 0);
  const Bounds type = result_bounds(flags);
  const int64_t least = std::max<int64_t>(registers[Register::output_min], type.least);
  const int64_t most = std::min<int64_t>(registers[Register::output_max], type.most);
  const int64_t shifted =
      int64_t{value} + std::clamp<int64_t>(registers[Register::output_zero], INT32_MIN, INT32_MAX);
  return static_cast<int32_t>(std::max(least, std::min(most, shifted)));
}

namespace {

// A window of pooling, cut at the borders of the image.
struct PoolWindow {
  int64_t image, y0, y1, x0, x1;
  int64_t positions() const {
    return std::max<int64_t>(y1 - y0, 0) * std::max<int64_t>(x1 - x0, 0);
  }
};

PoolWindow window_of(int64_t position, const Registers& r) {
  const int64_t width = r[Register::pool_out_width];
  const int64_t height = r[Register::pool_out_height];
  const int64_t y =
      position / width % height * r[Register::pool_stride_y] + r[Register::pool_offset_y];
  const int64_t x = position % width * r[Register::pool_stride_x] + r[Register::pool_offset_x];
  return {.image = position / (height * width),
          .y0 = std::max<int64_t>(y, 0),
          .y1 = std::min(y + r[Register::pool_window_y], r[Register::pool_height]),
          .x0 = std::max<int64_t>(x, 0),
          .x1 = std::min(x + r[Register::pool_window_x], r[Register::pool_width])};
}

}  // namespace

std::vector<int32_t> pool_rows(std::span<const int32_t> values, int64_t columns, int64_t used,
                               int64_t flags, const Registers& r) {
  const int64_t positions =
      r[Register::pool_images] * r[Register::pool_out_height] * r[Register::pool_out_width];
  const bool max_pool = (flags & kMaxPool) != 0;
  std::vector<int32_t> out(static_cast<size_t>(positions * columns));
  ThreadPool::global().parallel_for(positions, 64, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> sums(static_cast<size_t>(used));
    for (int64_t position = begin; position < end; ++position) {
      const PoolWindow window = window_of(position, r);
      if (window.positions() == 0) {
        throw invalid_argument("pooling: window at output {}, got no input, expected some",
                               position);
      }
      std::fill(sums.begin(), sums.end(), max_pool ? INT64_MIN : 0);
      const int64_t line = window.image * r[Register::pool_height];
      for (int64_t y = window.y0; y < window.y1; ++y) {
        for (int64_t x = window.x0; x < window.x1; ++x) {
          const int32_t* in = values.data() + ((line + y) * r[Register::pool_width] + x) * columns;
          for (size_t c = 0; c < sums.size(); ++c) {
            sums[c] = max_pool ? std::max<int64_t>(sums[c], in[c]) : sums[c] + in[c];
          }
        }
      }
      int32_t* to = out.data() + position * columns;
      for (size_t c = 0; c < sums.size(); ++c) {
        to[c] =
            max_pool ? static_cast<int32_t>(sums[c]) : rounded_average(sums[c], window.positions());
      }
      std::copy(values.begin() + used, values.begin() + columns, to + used);
    }
  });
  return out;
}

}  // namespace systole::tpu_v1
