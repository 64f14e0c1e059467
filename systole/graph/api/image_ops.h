// Images: [height, width, channels], or with a batch before that. (tf.image)
//
// Decoding and encoding run on the host. All else is arithmetic on arrays: it runs on the host, on
// devices, and has gradients. Sizes may be unknown while the graph is built, as those of a decoded
// image are. Errors are INVALID_ARGUMENT with the op, the node and the user's line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/op_options.h"

namespace systole::image {

// -- Files.

struct DecodeJpegOptions {
  int64_t channels = 0;  // 1: gray, 3: RGB, 0: as in the file
  int64_t ratio = 1;     // 1, 2, 4 or 8: decoded to 1/ratio of its size, which takes less time
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;  // what there is of a cut file, the rest gray
  std::string dct_method = {};         // "INTEGER_FAST" or "INTEGER_ACCURATE"
  std::string name = {};
};
// A JPEG file's bytes, a string scalar -> u8[height, width, channels]. A PNG file's are taken, too,
// as by TensorFlow, and a JPEG file's by decode_png with u8.
Output decode_jpeg(const Input& contents, const DecodeJpegOptions& options = {});

// s32[height, width, channels] of a JPEG file's bytes, of which only the header is read.
// (tf.image.extract_jpeg_shape)
Output extract_jpeg_shape(const Input& contents, const NameOptions& options = {});
// A part of it: crop_window is s32[top, left, height, width] within the image.
// (tf.image.decode_and_crop_jpeg)
Output decode_and_crop_jpeg(const Input& contents, const Input& crop_window,
                            const DecodeJpegOptions& options = {});

struct DecodePngOptions {
  int64_t channels = 0;     // 1: gray, 2: and alpha, 3: RGB, 4: and alpha, 0: as in the file
  DType dtype = DType::u8;  // or u16
  std::string name = {};
};
Output decode_png(const Input& contents, const DecodePngOptions& options = {});

struct DecodeImageOptions {
  int64_t channels = 0;  // 0, 1 or 3
  std::string name = {};
};
// Either, by its first bytes.
Output decode_image(const Input& contents, const DecodeImageOptions& options = {});

struct EncodePngOptions {
  int64_t compression = -1;  // zlib's level, -1: its default
  std::string name = {};
};
// u8 or u16[height, width, 1 to 4] -> a string scalar.
Output encode_png(const Input& image, const EncodePngOptions& options = {});

struct EncodeJpegOptions {
  int64_t quality = 95;  // 0 to 100
  std::string name = {};
};
// u8[height, width, 1 or 3] -> a string scalar.
Output encode_jpeg(const Input& image, const EncodeJpegOptions& options = {});

// -- Sizes.

struct Size {
  int64_t height = 0;
  int64_t width = 0;
};
struct ResizeOptions {
  bool align_corners = false;  // the corners' pixels stay at the corners
  // Pixels are squares, not points: TensorFlow 2's coordinates. TensorFlow 1's are the default.
  bool half_pixel_centers = false;
  std::string name = {};
};
// [batch, height, width, channels], or one image without the batch, of numbers -> f32 of the new
// size, each pixel from the four around it. (tf.image.resize_bilinear)
Output resize_bilinear(const Input& images, Size size, const ResizeOptions& options = {});
// The nearest pixel, in the images' dtype. (tf.image.resize_nearest_neighbor)
Output resize_nearest_neighbor(const Input& images, Size size, const ResizeOptions& options = {});

// Each pixel from the sixteen around it, in f32. (tf.image.resize_bicubic)
Output resize_bicubic(const Input& images, Size size, const ResizeOptions& options = {});

enum class ResizeMethod : uint8_t { bilinear, nearest_neighbor, bicubic };
// One of the three, whose errors it has. (tf.image.resize_images)
Output resize_images(const Input& images, Size size, ResizeMethod method = ResizeMethod::bilinear,
                     const ResizeOptions& options = {});

// -- Parts. Of one image or a batch.

// Rows from offset_height on, columns from offset_width on. (tf.image.crop_to_bounding_box)
Output crop_to_bounding_box(const Input& image, int64_t offset_height, int64_t offset_width,
                            int64_t target_height, int64_t target_width);
// Zeros around it: the image's corner is at the offsets. (tf.image.pad_to_bounding_box)
Output pad_to_bounding_box(const Input& image, int64_t offset_height, int64_t offset_width,
                           int64_t target_height, int64_t target_width);
// The middle part, `central_fraction` of either side, in (0, 1]. (tf.image.central_crop)
Output central_crop(const Input& image, double central_fraction);
// The middle of what is too large, zeros around what is too small.
// (tf.image.resize_image_with_crop_or_pad)
Output resize_with_crop_or_pad(const Input& image, int64_t target_height, int64_t target_width);

struct RandomOptions {
  std::optional<int64_t> seed = std::nullopt;
  std::string name = {};
};
// A part of `size`, at a place drawn anew in each run; for values of any rank. (tf.random_crop)
Output random_crop(const Input& value, const Shape& size, const RandomOptions& options = {});

struct DistortedBoxOptions {
  std::optional<int64_t> seed = std::nullopt;
  double min_object_covered = 0.1;  // of one of the boxes at least
  double min_aspect_ratio = 0.75;   // width by height
  double max_aspect_ratio = 1.33;
  double min_area = 0.05;  // of the image's
  double max_area = 1;
  int64_t max_attempts = 100;
  bool use_image_if_no_bounding_boxes = false;
  std::string name = {};
};
struct DistortedBox {
  Output begin;   // s32[3]: top, left, 0
  Output size;    // s32[3]: height, width, -1
  Output bboxes;  // f32[1,1,4]: top, left, bottom, right as fractions
};
// A random part of an image of s32[height, width, channels]; all of it when no attempt fits.
// Boxes are fractions f32[1,n,4]: top, left, bottom, right.
// (tf.image.sample_distorted_bounding_box)
DistortedBox sample_distorted_bounding_box(const Input& image_size, const Input& bounding_boxes,
                                           const DistortedBoxOptions& options = {});
// The edges of boxes f32[batch,n,4] in images [batch, height, width, 1, 3 or 4] of floats, in ten
// colours in turn. (tf.image.draw_bounding_boxes)
Output draw_bounding_boxes(const Input& images, const Input& boxes,
                           const NameOptions& options = {});

struct CropAndResizeOptions {
  ResizeMethod method = ResizeMethod::bilinear;  // or nearest_neighbor
  double extrapolation_value = 0;                // outside of the image
  std::string name = {};
};
// Parts of images [batch, height, width, channels], each of one size: boxes f32[n,4] are top, left,
// bottom and right as fractions, box_indices integers [n] the numbers of their images.
// -> f32[n, size, channels]. (tf.image.crop_and_resize)
Output crop_and_resize(const Input& images, const Input& boxes, const Input& box_indices, Size size,
                       const CropAndResizeOptions& options = {});

// -- Mirrors.

Output flip_left_right(const Input& image, const NameOptions& options = {});
Output flip_up_down(const Input& image, const NameOptions& options = {});
// Rows and columns swapped; turned by k quarters, counterclockwise. (tf.image.transpose_image,
// tf.image.rot90)
Output transpose_image(const Input& image, const NameOptions& options = {});
Output rot90(const Input& image, int64_t k = 1, const NameOptions& options = {});
// In half of the runs; each image of a batch by itself.
Output random_flip_left_right(const Input& image, const RandomOptions& options = {});
Output random_flip_up_down(const Input& image, const RandomOptions& options = {});

// -- Light. The arithmetic is in f32; integers are taken as fractions of their largest value and
// saturate.

// Integers to fractions of their largest value in [0, 1] and back, integers of other widths scaled.
// `saturate`: values that do not fit become the nearest that do. (tf.image.convert_image_dtype)
Output convert_image_dtype(const Input& image, DType dtype, bool saturate = false);
// image + delta. (tf.image.adjust_brightness)
Output adjust_brightness(const Input& image, const Input& delta);
// (x - mean) * contrast_factor + mean, with the mean of each channel of each image.
// (tf.image.adjust_contrast)
Output adjust_contrast(const Input& images, const Input& contrast_factor);
// With a delta in [-max_delta, max_delta).
Output random_brightness(const Input& image, double max_delta, const RandomOptions& options = {});
// With a factor in [lower, upper).
Output random_contrast(const Input& image, double lower, double upper,
                       const RandomOptions& options = {});
// [.., 3] of fractions: hue, saturation and value, each in [0, 1], and back. (tf.image.rgb_to_hsv,
// tf.image.hsv_to_rgb)
Output rgb_to_hsv(const Input& images, const NameOptions& options = {});
Output hsv_to_rgb(const Input& images, const NameOptions& options = {});
// The hue turned by `delta` of a full turn. (tf.image.adjust_hue)
Output adjust_hue(const Input& image, const Input& delta);
// The saturation times a factor, at most 1. (tf.image.adjust_saturation)
Output adjust_saturation(const Input& image, const Input& saturation_factor);
// With a delta in [-max_delta, max_delta), max_delta in [0, 0.5]; with a factor in [lower, upper).
Output random_hue(const Input& image, double max_delta, const RandomOptions& options = {});
Output random_saturation(const Input& image, double lower, double upper,
                         const RandomOptions& options = {});
// Zero mean and unit norm in f32: (x - mean) / max(stddev, 1 / sqrt(number of pixels)), over all of
// an image. (tf.image.per_image_standardization)
Output per_image_standardization(const Input& image);
// [.., 3] -> [.., 1]. (tf.image.rgb_to_grayscale)
Output rgb_to_grayscale(const Input& images, const NameOptions& options = {});
// [.., 1] -> [.., 3], thrice the same. (tf.image.grayscale_to_rgb)
Output grayscale_to_rgb(const Input& images, const NameOptions& options = {});

}  // namespace systole::image
