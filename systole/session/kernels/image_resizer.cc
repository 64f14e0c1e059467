#include "systole/session/kernels/image_resizer.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "systole/session/kernels/bilinear_pairs.h"

namespace systole {
namespace {

// Four adjacent floats, unaligned.
using Four [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int64_t kFour = 4;

Four mixed(const float* low, const float* high, float fraction) {
  const Four from = *reinterpret_cast<const Four*>(low);
  return from + (*reinterpret_cast<const Four*>(high) - from) * fraction;
}

// Works in blocks of constant size, which the compiler vectorises.
[[gnu::always_inline]] inline void convert(const uint8_t* __restrict from, float* __restrict to,
                                           int64_t count) {
  constexpr int64_t kBlock = 16;
  for (; count >= kBlock; count -= kBlock, from += kBlock, to += kBlock) {
    for (int64_t i = 0; i < kBlock; ++i) to[i] = static_cast<float>(from[i]);
  }
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void convert_wide(const uint8_t* from, float* to, int64_t count) {
  convert(from, to, count);
}
#endif

void to_floats(const uint8_t* from, float* to, int64_t count) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") != 0;
  if (wide) return convert_wide(from, to, count);
#endif
  convert(from, to, count);
}
void to_floats(const float* from, float* to, int64_t count) { std::copy_n(from, count, to); }

// Resizes images of T row by row, along the width first, to round as TensorFlow's kernel does.
template <class T>
class Bilinear {
 public:
  Bilinear(const ResizeAxes& axes, int64_t width, int64_t channels)
      : axes_(axes),
        width_(width),
        channels_(channels),
        columns_(static_cast<int64_t>(axes.columns.low.size())),
        left_(axes.columns.low),
        right_(axes.columns.high),
        source_(static_cast<size_t>(width * channels + kFour)),
        low_{.values = std::vector<float>(static_cast<size_t>(columns_ * channels + kFour))},
        high_(low_) {
    for (int32_t& at : left_) at *= static_cast<int32_t>(channels);
    for (int32_t& at : right_) at *= static_cast<int32_t>(channels);
  }

  void run(const T* image, float* out) {
    low_.source = high_.source = -1;
    for (size_t i = 0; i < axes_.rows.low.size(); ++i) {
      // The lower source row is often the upper one of the next output row.
      if (low_.source != axes_.rows.low[i]) std::swap(low_, high_);
      load(image, axes_.rows.low[i], low_);
      load(image, axes_.rows.high[i], high_);
      mix_rows(axes_.rows.fraction[i], out);
      out += columns_ * channels_;
    }
  }

 private:
  // A resized source row, with padding for writes past its end.
  struct Row {
    std::vector<float> values;
    int32_t source = -1;
  };

  void load(const T* image, int32_t source, Row& row) {
    if (row.source == source) return;
    row.source = source;
    to_floats(image + source * width_ * channels_, source_.data(), width_ * channels_);
    const float* const from = source_.data();
    const int32_t* const left = left_.data();
    const int32_t* const right = right_.data();
    const float* const fractions = axes_.columns.fraction.data();
    const int64_t channels = channels_;
    float* out = row.values.data();
    // The next pixel overwrites elements written past this one.
    for (size_t i = 0; i < left_.size(); ++i, out += channels) {
      for (int64_t c = 0; c < channels; c += kFour) {
        *reinterpret_cast<Four*>(out + c) =
            mixed(from + left[i] + c, from + right[i] + c, fractions[i]);
      }
    }
  }
  void mix_rows(float fraction, float* out) const {
    const int64_t count = columns_ * channels_;
    const float* const low = low_.values.data();
    const float* const high = high_.values.data();
    int64_t i = 0;
    for (; i + kFour <= count; i += kFour) {
      *reinterpret_cast<Four*>(out + i) = mixed(low + i, high + i, fraction);
    }
    for (; i < count; ++i) out[i] = low[i] + (high[i] - low[i]) * fraction;
  }

  const ResizeAxes& axes_;
  const int64_t width_;
  const int64_t channels_;
  const int64_t columns_;
  std::vector<int32_t> left_;  // by output pixel: index of its left source element
  std::vector<int32_t> right_;
  std::vector<float> source_;
  Row low_;
  Row high_;
};

template <class T>
void bilinear(const Tensor& images, const ResizeAxes& axes, Tensor& out) {
  const int64_t channels = images.dim(3);
  const int64_t source = images.dim(1) * images.dim(2) * channels;
  const int64_t target = out.dim(1) * out.dim(2) * channels;
  const auto run = [&](auto one) {
    for (int64_t i = 0; i < images.dim(0); ++i) {
      one.run(images.data<T>().data() + i * source, out.data<float>().data() + i * target);
    }
  };
  if constexpr (std::is_same_v<T, uint8_t>) {
    if (BilinearPairs::takes(axes, images.dim(1), images.dim(2), channels)) {
      return run(BilinearPairs(axes, images.dim(2), channels));
    }
  }
  run(Bilinear<T>(axes, images.dim(2), channels));
}

void nearest(const Tensor& images, const ResizeAxes& axes, Tensor& out) {
  const auto pixel = static_cast<size_t>(images.dim(3) * size_of(images.dtype()));
  const size_t row = pixel * static_cast<size_t>(images.dim(2));
  const auto* image = static_cast<const std::byte*>(images.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (int64_t i = 0; i < images.dim(0); ++i, image += row * static_cast<size_t>(images.dim(1))) {
    for (const int32_t y : axes.rows.low) {
      for (const int32_t x : axes.columns.low) {
        std::memcpy(to, image + static_cast<size_t>(y) * row + static_cast<size_t>(x) * pixel,
                    pixel);
        to += pixel;
      }
    }
  }
}

// An image [height, row / channels, channels], along the height first.
void bicubic(const float* image, int64_t row, int64_t channels,
             const std::vector<BicubicPoint>& rows, const std::vector<BicubicPoint>& columns,
             float* out) {
  std::vector<float> mixed(static_cast<size_t>(row));
  for (const BicubicPoint& y : rows) {
    const float* const source[] = {image + y.at[0] * row, image + y.at[1] * row,
                                   image + y.at[2] * row, image + y.at[3] * row};
    for (int64_t i = 0; i < row; ++i) {
      mixed[i] = y.weight[0] * source[0][i] + y.weight[1] * source[1][i] +
                 y.weight[2] * source[2][i] + y.weight[3] * source[3][i];
    }
    for (const BicubicPoint& x : columns) {
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (size_t k = 0; k < 4; ++k) sum += x.weight[k] * mixed[x.at[k] * channels + c];
        *out++ = sum;
      }
    }
  }
}

// [height, width] that a resize op is asked for. Errors: INVALID_ARGUMENT.
std::span<const int32_t> checked_size(KernelContext& context) {
  const Tensor& images = context.input(0);
  if (images.dim(1) == 0 || images.dim(2) == 0) {
    throw invalid_argument("images, got {}, expected height and width above 0", images.type());
  }
  const auto size = context.input(1).data<int32_t>();
  if (size[0] < 1 || size[1] < 1) {
    throw invalid_argument("size, got [{},{}], expected sizes above 0", size[0], size[1]);
  }
  return size;
}

}  // namespace

Tensor resize_images_bicubic(KernelContext& context) {
  const std::span<const int32_t> size = checked_size(context);
  const Tensor images = context.input(0).cast(DType::f32);
  const bool align = context.attr<bool>("align_corners");
  const bool half = context.attr<bool>("half_pixel_centers");
  const auto rows = bicubic_axis(images.dim(1), size[0], align, half);
  const auto columns = bicubic_axis(images.dim(2), size[1], align, half);
  const int64_t channels = images.dim(3);
  const int64_t row = images.dim(2) * channels;
  Tensor out(DType::f32, {images.dim(0), size[0], size[1], channels});
  for (int64_t i = 0; i < images.dim(0); ++i) {
    bicubic(images.data<float>().data() + i * images.dim(1) * row, row, channels, rows, columns,
            out.data<float>().data() + i * size[0] * size[1] * channels);
  }
  return out;
}

Tensor resize_images(KernelContext& context, ResizeAxisFn axis) {
  const std::span<const int32_t> size = checked_size(context);
  const Tensor& images = context.input(0);
  const bool align = context.attr<bool>("align_corners");
  const bool half = context.attr<bool>("half_pixel_centers");
  const ResizeAxes axes{.rows = axis(images.dim(1), size[0], align, half),
                        .columns = axis(images.dim(2), size[1], align, half)};
  const DType dtype = context.node.output_types()[0].dtype;
  Tensor out(dtype, {images.dim(0), size[0], size[1], images.dim(3)});
  if (axis == nearest_axis) {
    nearest(images, axes, out);
  } else if (images.dtype() == DType::u8) {
    bilinear<uint8_t>(images, axes, out);
  } else {
    bilinear<float>(images.cast(DType::f32), axes, out);
  }
  return out;
}

}  // namespace systole
