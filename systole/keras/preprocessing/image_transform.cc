#include "systole/keras/preprocessing/image_transform.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace systole::keras::preprocessing::image {
namespace {

using Matrix3 = std::array<std::array<double, 3>, 3>;

Matrix3 product(const Matrix3& a, const Matrix3& b) {
  Matrix3 c{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      for (size_t k = 0; k < 3; ++k) c.at(i).at(j) += a.at(i).at(k) * b.at(k).at(j);
    }
  }
  return c;
}

Matrix3 affine_matrix(const AffineOptions& o, int64_t height, int64_t width) {
  const double theta = o.theta * std::numbers::pi / 180;
  const double shear = o.shear * std::numbers::pi / 180;
  const Matrix3 rotation = {
      {{std::cos(theta), -std::sin(theta), 0}, {std::sin(theta), std::cos(theta), 0}, {0, 0, 1}}};
  const Matrix3 shift = {{{1, 0, o.tx}, {0, 1, o.ty}, {0, 0, 1}}};
  const Matrix3 sheared = {{{1, -std::sin(shear), 0}, {0, std::cos(shear), 0}, {0, 0, 1}}};
  const Matrix3 zoom = {{{o.zx, 0, 0}, {0, o.zy, 0}, {0, 0, 1}}};
  const double row = static_cast<double>(height - 1) / 2;
  const double column = static_cast<double>(width - 1) / 2;
  const Matrix3 to_centre = {{{1, 0, row}, {0, 1, column}, {0, 0, 1}}};
  const Matrix3 from_centre = {{{1, 0, -row}, {0, 1, -column}, {0, 0, 1}}};
  const Matrix3 turned = product(product(product(rotation, shift), sheared), zoom);
  return product(product(to_centre, turned), from_centre);
}

void check_image(std::string_view op, const Tensor& x) {
  if (x.rank() != 3 || x.dtype() != DType::f32) {
    throw invalid_argument("{}: image, got {}, expected f32[height,width,channels]", op, x.type());
  }
}

// The index of a row or column in [0, size), or -1 for a pixel of cval.
int64_t filled_index(int64_t i, int64_t size, FillMode mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case FillMode::nearest:
      return std::clamp<int64_t>(i, 0, size - 1);
    case FillMode::wrap:
      return (i % size + size) % size;
    case FillMode::reflect: {
      const int64_t place = (i % (2 * size) + 2 * size) % (2 * size);
      return place < size ? place : 2 * size - 1 - place;
    }
    default:
      return -1;
  }
}

// Reads pixels between the grid points of an image.
class ImageSampler {
 public:
  ImageSampler(const Tensor& x, const AffineOptions& options)
      : pixels_(x.data<float>().data()),
        height_(x.dim(0)),
        width_(x.dim(1)),
        channels_(x.dim(2)),
        options_(options) {}

  void sample(double row, double column, float* out) const {
    if (options_.order == 0) {
      row = std::floor(row + 0.5);
      column = std::floor(column + 0.5);
    }
    const double top = std::floor(row);
    const double left = std::floor(column);
    const double down = row - top;
    const double right = column - left;
    std::fill(out, out + channels_, 0.0F);
    add((1 - down) * (1 - right), top, left, out);
    add((1 - down) * right, top, left + 1, out);
    add(down * (1 - right), top + 1, left, out);
    add(down * right, top + 1, left + 1, out);
  }

 private:
  void add(double weight, double row, double column, float* out) const {
    if (weight == 0) return;
    // Far beyond any image, where integers could overflow, all that matters is the side.
    const auto index = [&](double at, int64_t size) {
      return filled_index(static_cast<int64_t>(std::clamp(at, -1e15, 1e15)), size,
                          options_.fill_mode);
    };
    const int64_t r = index(row, height_);
    const int64_t c = index(column, width_);
    const bool inside = r >= 0 && c >= 0;
    const float* const pixel = inside ? pixels_ + (r * width_ + c) * channels_ : nullptr;
    for (int64_t i = 0; i < channels_; ++i) {
      const double value = inside ? static_cast<double>(pixel[i]) : options_.cval;
      out[i] += static_cast<float>(weight * value);
    }
  }

  const float* pixels_;
  int64_t height_;
  int64_t width_;
  int64_t channels_;
  const AffineOptions& options_;
};

}  // namespace

FillMode fill_mode_from_name(const std::string& name) {
  if (name == "constant") return FillMode::constant;
  if (name == "nearest") return FillMode::nearest;
  if (name == "reflect") return FillMode::reflect;
  if (name == "wrap") return FillMode::wrap;
  throw invalid_argument(
      "fill_mode: got '{}', expected \"constant\", \"nearest\", \"reflect\" or \"wrap\"", name);
}

Tensor apply_affine_transform(const Tensor& x, const AffineOptions& options) {
  check_image("apply_affine_transform", x);
  if (options.order < 0 || options.order > 1) {
    throw unimplemented("apply_affine_transform: interpolation order, got {}, expected 0 or 1",
                        options.order);
  }
  const bool same = options.theta == 0 && options.tx == 0 && options.ty == 0 &&
                    options.shear == 0 && options.zx == 1 && options.zy == 1;
  if (same || x.num_elements() == 0) return x;
  const Matrix3 matrix = affine_matrix(options, x.dim(0), x.dim(1));
  const ImageSampler sampler(x, options);
  Tensor result(x.type());
  float* out = result.data<float>().data();
  for (int64_t r = 0; r < x.dim(0); ++r) {
    for (int64_t c = 0; c < x.dim(1); ++c, out += x.dim(2)) {
      const auto row = static_cast<double>(r);
      const auto column = static_cast<double>(c);
      sampler.sample(matrix[0][0] * row + matrix[0][1] * column + matrix[0][2],
                     matrix[1][0] * row + matrix[1][1] * column + matrix[1][2], out);
    }
  }
  return result;
}

Tensor apply_channel_shift(const Tensor& x, double intensity) {
  check_image("apply_channel_shift", x);
  Tensor result = x.clone();
  const auto pixels = result.data<float>();
  if (pixels.empty()) return result;
  const auto [low, high] = std::minmax_element(pixels.begin(), pixels.end());
  const float min = *low;
  const float max = *high;
  for (float& pixel : pixels) {
    pixel = std::clamp(pixel + static_cast<float>(intensity), min, max);
  }
  return result;
}

Tensor apply_brightness_shift(const Tensor& x, double brightness) {
  check_image("apply_brightness_shift", x);
  Tensor result = x.clone();
  const auto pixels = result.data<float>();
  if (pixels.empty()) return result;
  const float limit = *std::max_element(pixels.begin(), pixels.end()) > 1 ? 255.0F : 1.0F;
  for (float& pixel : pixels) {
    pixel = std::min(static_cast<float>(static_cast<double>(pixel) * brightness), limit);
  }
  return result;
}

Tensor flip_axis(const Tensor& x, int axis) {
  check_image("flip_axis", x);
  if (axis != 0 && axis != 1) {
    throw invalid_argument("flip_axis: axis, got {}, expected 0 or 1", axis);
  }
  Tensor result(x.type());
  const float* const from = x.data<float>().data();
  float* to = result.data<float>().data();
  for (int64_t r = 0; r < x.dim(0); ++r) {
    for (int64_t c = 0; c < x.dim(1); ++c, to += x.dim(2)) {
      const int64_t row = axis == 0 ? x.dim(0) - 1 - r : r;
      const int64_t column = axis == 1 ? x.dim(1) - 1 - c : c;
      std::copy_n(from + (row * x.dim(1) + column) * x.dim(2), x.dim(2), to);
    }
  }
  return result;
}

}  // namespace systole::keras::preprocessing::image
