#include "systole/graph/testing/image_op_cases.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "systole/graph/api/image_ops.h"
#include "systole/graph/testing/scalar_reference.h"

namespace systole::graph_testing {
namespace {

using image::ResizeOptions;
using image::Size;

// The place in the source of pixel i of the result, along one axis.
double source_place(const ResizeOptions& options, int64_t i, int64_t source, int64_t target) {
  if (options.align_corners && target > 1) {
    return static_cast<double>(i * (source - 1)) / static_cast<double>(target - 1);
  }
  const double scale = static_cast<double>(source) / static_cast<double>(target);
  return options.half_pixel_centers ? (static_cast<double>(i) + 0.5) * scale - 0.5
                                    : static_cast<double>(i) * scale;
}

// The pixel at whole places, the nearest one outside.
double pixel(const Tensor& x, int64_t b, double row, double column, int64_t c) {
  const auto inside = [&](double at, int axis) {
    return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(x.dim(axis) - 1)));
  };
  return element_or_0(x, Dims{b, inside(row, 1), inside(column, 2), c});
}

double between(const Tensor& x, const ResizeOptions& options, Size size, IndexSpan i) {
  const double row = source_place(options, i[1], x.dim(1), size.height);
  const double column = source_place(options, i[2], x.dim(2), size.width);
  const double top = std::floor(row);
  const double left = std::floor(column);
  const auto mixed = [&](double at) {
    const double a = pixel(x, i[0], at, left, i[3]);
    return a + (pixel(x, i[0], at, left + 1, i[3]) - a) * (column - left);
  };
  return mixed(top) + (mixed(top + 1) - mixed(top)) * (row - top);
}

double nearest(const Tensor& x, const ResizeOptions& options, Size size, IndexSpan i) {
  const auto place = [&](int axis, int64_t target) {
    // Half a pixel more than the place of its corner is its centre.
    const double at = source_place(options, i[axis], x.dim(axis), target);
    if (options.half_pixel_centers) return std::floor(at + 0.5);
    return options.align_corners ? std::round(at) : std::floor(at);
  };
  return pixel(x, i[0], place(1, size.height), place(2, size.width), i[3]);
}

// The weights of the four pixels around a place, by its distance to the second one.
struct CubicWeights {
  double first = 0;  // the first pixel's place
  std::array<double, 4> weight;
};
CubicWeights cubic(const ResizeOptions& options, int64_t i, int64_t source, int64_t target) {
  const double a = options.half_pixel_centers ? -0.5 : -0.75;
  const double at = source_place(options, i, source, target);
  const double x = std::rint((at - std::floor(at)) * 1024) / 1024;
  CubicWeights result{.first = std::floor(at) - 1, .weight = {}};
  double sum = 0;
  for (int k = 0; k < 4; ++k) {
    const double d = std::abs(x + 1 - k);
    double& weight = result.weight[k];
    weight = d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                    : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
    const double pixel = result.first + k;
    if (options.half_pixel_centers && (pixel < 0 || pixel > static_cast<double>(source - 1))) {
      weight = 0;
    }
    sum += weight;
  }
  for (double& weight : result.weight) weight /= sum;
  return result;
}

double bicubic(const Tensor& x, const ResizeOptions& options, Size size, IndexSpan i) {
  const CubicWeights rows = cubic(options, i[1], x.dim(1), size.height);
  const CubicWeights columns = cubic(options, i[2], x.dim(2), size.width);
  double sum = 0;
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) {
      sum += rows.weight[r] * columns.weight[c] *
             pixel(x, i[0], rows.first + r, columns.first + c, i[3]);
    }
  }
  return sum;
}

std::string name_of(std::string_view kind, const ResizeOptions& options, Size size) {
  return fmt::format("resize_{}_{}x{}{}{}", kind, size.height, size.width,
                     options.align_corners ? "_aligned" : "",
                     options.half_pixel_centers ? "_half_pixel" : "");
}

void add_resize(std::vector<OpCase>& cases, const ResizeOptions& options, Size size) {
  const Tensor images = random_tensor({2, 4, 5, 2});
  const Shape result{2, size.height, size.width, 2};
  cases.push_back({.name = name_of("bilinear", options, size),
                   .build = [=](auto& x) { return image::resize_bilinear(x[0], size, options); },
                   .inputs = {images},
                   .compute =
                       [=](const auto& x) {
                         return std::vector{generate(result, DType::f32, [&](IndexSpan i) {
                           return between(x[0], options, size, i);
                         })};
                       },
                   .step = 0.25,  // linear, and computed in f32
                   .gradient_tolerance = 1e-5});
  cases.push_back({.name = name_of("bicubic", options, size),
                   .build = [=](auto& x) { return image::resize_bicubic(x[0], size, options); },
                   .inputs = {images},
                   .compute =
                       [=](const auto& x) {
                         return std::vector{generate(result, DType::f32, [&](IndexSpan i) {
                           return bicubic(x[0], options, size, i);
                         })};
                       },
                   .step = 0.25,  // linear, and computed in f32
                   .gradient_tolerance = 1e-5});
  cases.push_back(
      {.name = name_of("nearest", options, size),
       .build = [=](auto& x) { return image::resize_nearest_neighbor(x[0], size, options); },
       .inputs = {images},
       .compute =
           [=](const auto& x) {
             return std::vector{generate(result, x[0].dtype(), [&](IndexSpan i) {
               return nearest(x[0], options, size, i);
             })};
           },
       .dtypes = {DType::bf16},
       .second_order = true});
}

OpCase error_case(std::string name, BuildFn build, std::string error) {
  return {.name = "error_image_" + std::move(name),
          .build = std::move(build),
          .inputs = {Tensor::zeros(DType::f32, {2, 4, 5, 3}), Tensor::zeros(DType::f32, {4, 5})},
          .error = std::move(error)};
}

void add_errors(std::vector<OpCase>& cases) {
  cases.push_back(error_case(
      "rank",
      [](auto& x) {
        return image::resize_bilinear(x[1], {2, 2});
      },
      "ResizeBilinear: images, got f32[4,5], expected [batch, height, width, channels]"));
  cases.push_back(error_case(
      "size",
      [](auto& x) {
        return image::resize_nearest_neighbor(x[0], {0, 2});
      },
      "ResizeNearestNeighbor: size, got [0,2], expected sizes above 0"));
  cases.push_back(error_case(
      "coordinates",
      [](auto& x) {
        return image::resize_bilinear(x[0], {2, 2},
                                      {.align_corners = true, .half_pixel_centers = true});
      },
      "align_corners and half_pixel_centers, got both, expected one at most"));
  cases.push_back(error_case(
      "crop", [](auto& x) { return image::crop_to_bounding_box(x[0], 3, 0, 2, 2); },
      "elements of axis 1 of [2,4,5,3], got [3,5), expected within [0,4)"));
  cases.push_back(error_case(
      "crop_offset", [](auto& x) { return image::crop_to_bounding_box(x[0], -1, 0, 2, 2); },
      "crop_to_bounding_box: offsets, got -1 and 0, expected >= 0, at image_op_cases.cc:"));
  cases.push_back(error_case(
      "pad", [](auto& x) { return image::pad_to_bounding_box(x[0], 0, 0, 3, 9); },
      "paddings of axis 1, got 0 and -1, expected >= 0"));
  cases.push_back(error_case(
      "fraction", [](auto& x) { return image::central_crop(x[0], 1.5); },
      "central_crop: central_fraction, got 1.5, expected in (0, 1]"));
  cases.push_back(error_case(
      "image", [](auto& x) { return image::flip_left_right(x[1]); },
      "flip_left_right: image, got f32[4,5], expected [height, width, channels] or a batch"));
  cases.push_back(error_case(
      "random_crop",
      [](auto& x) {
        return image::random_crop(x[0], {2, 5, 5, 3});
      },
      "random_crop: size, got [2,5,5,3], expected one within f32[2,4,5,3]"));
  cases.push_back(error_case(
      "gray", [](auto& x) { return image::rgb_to_grayscale(x[1]); },
      "rgb_to_grayscale: images, got f32[4,5], expected 3 channels"));
}

// What is cut out of a batch [2,4,5,3], by where its corner lies in it.
void add_parts(std::vector<OpCase>& cases) {
  const auto add = [&](std::string name, const Shape& out, Dims corner, BuildFn build) {
    cases.push_back(
        {.name = "image_" + std::move(name),
         .build = std::move(build),
         .inputs = {random_tensor({2, 4, 5, 3})},
         .compute =
             [=](const auto& x) {
               return std::vector{generate(out, x[0].dtype(), [&](IndexSpan i) {
                 return element_or_0(x[0], Dims{i[0], i[1] + corner[0], i[2] + corner[1], i[3]});
               })};
             },
         .tolerance = 0});
  };
  add("crop", {2, 2, 3, 3}, {1, 2},
      [](auto& x) { return image::crop_to_bounding_box(x[0], 1, 2, 2, 3); });
  add("pad", {2, 6, 8, 3}, {-1, -3},
      [](auto& x) { return image::pad_to_bounding_box(x[0], 1, 3, 6, 8); });
  add("central_crop", {2, 2, 3, 3}, {1, 1}, [](auto& x) { return image::central_crop(x[0], 0.5); });
  add("fit_smaller", {2, 2, 2, 3}, {1, 1},
      [](auto& x) { return image::resize_with_crop_or_pad(x[0], 2, 2); });
  add("fit_larger", {2, 7, 8, 3}, {-1, -1},
      [](auto& x) { return image::resize_with_crop_or_pad(x[0], 7, 8); });
  add("fit_both", {2, 6, 3, 3}, {-1, 1},
      [](auto& x) { return image::resize_with_crop_or_pad(x[0], 6, 3); });
}

void add_light(std::vector<OpCase>& cases) {
  const auto add = [&](std::string name, BuildFn build, Tensor input,
                       std::function<double(const Tensor&, IndexSpan)> f) {
    cases.push_back({.name = "image_" + std::move(name),
                     .build = std::move(build),
                     .inputs = {std::move(input)},
                     .compute = [f = std::move(f)](const auto& x) {
                       return std::vector{generate(x[0].shape(), x[0].dtype(),
                                                   [&](IndexSpan i) { return f(x[0], i); })};
                     }});
  };
  const Tensor images = random_tensor({2, 3, 4, 3});
  add(
      "brightness", [](auto& x) { return image::adjust_brightness(x[0], 0.25); }, images,
      [](const Tensor& x, IndexSpan i) { return element_or_0(x, i) + 0.25; });
  add(
      "flip_left_right", [](auto& x) { return image::flip_left_right(x[0]); }, images,
      [](const Tensor& x, IndexSpan i) {
        return element_or_0(x, Dims{i[0], i[1], 3 - i[2], i[3]});
      });
  add(
      "flip_up_down", [](auto& x) { return image::flip_up_down(x[0]); }, images,
      [](const Tensor& x, IndexSpan i) {
        return element_or_0(x, Dims{i[0], 2 - i[1], i[2], i[3]});
      });
  add(
      "rot90_twice", [](auto& x) { return image::rot90(x[0], 2); }, images,
      [](const Tensor& x, IndexSpan i) {
        return element_or_0(x, Dims{i[0], 2 - i[1], 3 - i[2], i[3]});
      });
  const auto mean = [](const Tensor& x, int64_t b, int64_t c) {
    double sum = 0;
    for (int64_t k = 0; k < 12; ++k) sum += element_or_0(x, Dims{b, k / 4, k % 4, c});
    return sum / 12;
  };
  add(
      "contrast", [](auto& x) { return image::adjust_contrast(x[0], 2); }, images,
      [mean](const Tensor& x, IndexSpan i) {
        const double m = mean(x, i[0], i[3]);
        return (element_or_0(x, i) - m) * 2 + m;
      });
  add(
      "standardization", [](auto& x) { return image::per_image_standardization(x[0]); }, images,
      [mean](const Tensor& x, IndexSpan i) {
        const double m = (mean(x, i[0], 0) + mean(x, i[0], 1) + mean(x, i[0], 2)) / 3;
        double squares = 0;
        for (int64_t k = 0; k < 36; ++k) {
          squares += std::pow(element_or_0(x, Dims{i[0], k / 12, k / 3 % 4, k % 3}) - m, 2);
        }
        return (element_or_0(x, i) - m) / std::max(std::sqrt(squares / 36), 1 / std::sqrt(36.0));
      });
}

}  // namespace

std::vector<OpCase> image_op_cases() {
  std::vector<OpCase> cases;
  for (const Size size : {Size{8, 10}, Size{2, 3}, Size{7, 4}, Size{1, 1}}) {
    add_resize(cases, {}, size);
    add_resize(cases, {.align_corners = true}, size);
    add_resize(cases, {.half_pixel_centers = true}, size);
  }
  add_parts(cases);
  add_light(cases);
  add_errors(cases);
  return with_squares(std::move(cases));
}

}  // namespace systole::graph_testing
