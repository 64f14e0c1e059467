// Images.
#include "systole/graph/api/image_ops.h"

#include "functions.h"

namespace systole::python {
namespace {

using image::RandomOptions;

void define_sizes() {
  function("image.resize_images",
           +[](const Input& images, const std::vector<int64_t>& size, std::optional<int64_t> method,
               std::optional<bool> align_corners) {
             // TensorFlow's numbers: bilinear, nearest neighbour, bicubic.
             const int64_t number = method.value_or(0);
             if (number < 0 || number > 2) throw nb::value_error("Resize method is not implemented.");
             const image::ResizeOptions options{.align_corners = align_corners.value_or(false)};
             return image::resize_images(images, {size.at(0), size.at(1)}, static_cast<image::ResizeMethod>(number),
                                         options);
           },
           {"images", "size", "method", "align_corners"});
  function("image.central_crop", image::central_crop, {"image", "central_fraction"});
  function("image.resize_image_with_crop_or_pad", image::resize_with_crop_or_pad,
           {"image", "target_height", "target_width"});
  const auto box = [](const char* name, auto f) {
    function(name, f, {"image", "offset_height", "offset_width", "target_height", "target_width"});
  };
  box("image.crop_to_bounding_box", image::crop_to_bounding_box);
  box("image.pad_to_bounding_box", image::pad_to_bounding_box);
  function("random_crop", image::random_crop, {"value", "size"}, field("seed", &RandomOptions::seed));
  function("image.draw_bounding_boxes", image::draw_bounding_boxes, {"images", "boxes"});
  function("image.sample_distorted_bounding_box",
           +[](const Input& image_size, const Input& boxes, std::optional<int64_t> seed, std::optional<double> covered,
               std::optional<std::vector<double>> aspect, std::optional<std::vector<double>> area,
               std::optional<int64_t> attempts, std::optional<bool> use_image) {
             const std::vector<double> ratios = aspect.value_or(std::vector{0.75, 1.33});
             const std::vector<double> areas = area.value_or(std::vector{0.05, 1.0});
             const image::DistortedBox box = image::sample_distorted_bounding_box(
                 image_size, boxes,
                 {.seed = seed,
                  .min_object_covered = covered.value_or(0.1),
                  .min_aspect_ratio = ratios.at(0),
                  .max_aspect_ratio = ratios.at(1),
                  .min_area = areas.at(0),
                  .max_area = areas.at(1),
                  .max_attempts = attempts.value_or(100),
                  .use_image_if_no_bounding_boxes = use_image.value_or(false)});
             return std::tuple(box.begin, box.size, box.bboxes);
           },
           {"image_size", "bounding_boxes", "seed", "min_object_covered", "aspect_ratio_range", "area_range",
            "max_attempts", "use_image_if_no_bounding_boxes"});
  function("image.crop_and_resize",
           +[](const Input& images, const Input& boxes, const Input& numbers, const std::vector<int64_t>& size,
               std::optional<std::string> method, std::optional<double> outside) {
             const image::ResizeMethod kind = method.value_or("bilinear") == "nearest"
                                                  ? image::ResizeMethod::nearest_neighbor
                                                  : image::ResizeMethod::bilinear;
             return image::crop_and_resize(images, boxes, numbers, {size.at(0), size.at(1)},
                                           {.method = kind, .extrapolation_value = outside.value_or(0)});
           },
           {"image", "boxes", "box_ind", "crop_size", "method", "extrapolation_value"})
      .with_types("image: T, boxes: float32, box_ind: int32");
  using J = image::DecodeJpegOptions;
  function("image.decode_and_crop_jpeg", image::decode_and_crop_jpeg, {"contents", "crop_window"},
           field("channels", &J::channels), field("ratio", &J::ratio), field("fancy_upscaling", &J::fancy_upscaling),
           field("try_recover_truncated", &J::try_recover_truncated), field("dct_method", &J::dct_method));
}

void define_mirrors() {
  function("image.flip_left_right", image::flip_left_right, {"image"});
  function("image.flip_up_down", image::flip_up_down, {"image"});
  function("image.transpose_image", image::transpose_image, {"image"});
  function("image.rot90",
           +[](const Input& image, std::optional<int64_t> k, const NameOptions& options) {
             return image::rot90(image, k.value_or(1), options);
           },
           {"image", "k"});
  function("image.random_flip_left_right", image::random_flip_left_right, {"image"},
           field("seed", &RandomOptions::seed));
  function("image.random_flip_up_down", image::random_flip_up_down, {"image"}, field("seed", &RandomOptions::seed));
}

void define_light() {
  function("image.per_image_standardization", image::per_image_standardization, {"image"});
  function("image.rgb_to_grayscale", image::rgb_to_grayscale, {"images"});
  function("image.grayscale_to_rgb", image::grayscale_to_rgb, {"images"});
  function("image.rgb_to_hsv", image::rgb_to_hsv, {"images"});
  function("image.hsv_to_rgb", image::hsv_to_rgb, {"images"});
  function("image.adjust_brightness", image::adjust_brightness, {"image", "delta"});
  function("image.adjust_contrast", image::adjust_contrast, {"images", "contrast_factor"});
  function("image.adjust_hue", image::adjust_hue, {"image", "delta"});
  function("image.adjust_saturation", image::adjust_saturation, {"image", "saturation_factor"});
  const auto seed = field("seed", &RandomOptions::seed);
  function("image.random_brightness", image::random_brightness, {"image", "max_delta"}, seed);
  function("image.random_hue", image::random_hue, {"image", "max_delta"}, seed);
  function("image.random_contrast", image::random_contrast, {"image", "lower", "upper"}, seed);
  function("image.random_saturation", image::random_saturation, {"image", "lower", "upper"}, seed);
  function("image.convert_image_dtype",
           +[](const Input& image, DType dtype, std::optional<bool> saturate) {
             return image::convert_image_dtype(image, dtype, saturate.value_or(false));
           },
           {"image", "dtype", "saturate"});
}

}  // namespace

void define_images() {
  define_sizes();
  define_mirrors();
  define_light();
}

}  // namespace systole::python
