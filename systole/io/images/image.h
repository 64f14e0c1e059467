// JPEG and PNG images in memory, decoded as by TensorFlow's decode_jpeg and decode_png. All
// functions are thread-safe. Errors: INVALID_ARGUMENT for bytes that are not such an image, are
// truncated or damaged, and for a wrong option; RESOURCE_EXHAUSTED, before memory is allocated, for
// an image with more decoded bytes than ImageLimits allows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"

namespace systole {

enum class ImageFormat { unknown, jpeg, png, gif, bmp };
// Returns "JPEG", "PNG", "GIF", "BMP" or "unknown format".
std::string_view image_format_name(ImageFormat format);
// Returns the format, from the first bytes.
ImageFormat sniff_image(std::string_view bytes);

struct ImageInfo {
  ImageFormat format = ImageFormat::unknown;
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;   // of the decoded image, if options do not set them
  int bit_depth = 8;  // of a channel in the file: 1 to 16
};
// Reads only the header. For GIF and BMP only the format is known.
ImageInfo read_image_info(std::string_view bytes);

struct ImageLimits {
  int64_t max_bytes = int64_t{512} << 20U;  // of a decoded image
  int max_jpeg_scans = 500;                 // small progressive files could demand any number
};

struct JpegOptions {
  int channels = 0;  // 1: grayscale, 3: RGB, 0: as in the file (CMYK becomes RGB)
  int ratio = 1;     // 1, 2, 4 or 8: decoded to 1/ratio of its size, rounded up
  bool fancy_upscaling = true;
  // Decodes the existing part of a truncated file and fills the rest with gray. Otherwise that is
  // an error, as is other damage that changes pixels.
  bool try_recover_truncated = false;
  // "INTEGER_FAST" or "INTEGER_ACCURATE"; "" means the former, as in TensorFlow.
  std::string dct_method;
  ImageLimits limits;
};
// Returns u8 [height, width, channels].
Tensor decode_jpeg(std::string_view bytes, const JpegOptions& options = {});

struct PngOptions {
  // 1: grayscale, 2: grayscale and alpha, 3: RGB, 4: RGBA, 0: as in the file (a palette becomes
  // RGB).
  int channels = 0;
  DType dtype = DType::u8;  // or u16. 8 bits become 16 by repetition, 16 become 8 by truncation
  ImageLimits limits;
};
// Returns u8 or u16 [height, width, channels].
Tensor decode_png(std::string_view bytes, const PngOptions& options = {});

// Decodes either format, by its first bytes; `channels` is 0, 1 or 3.
Tensor decode_image(std::string_view bytes, int channels = 0, const ImageLimits& limits = {});

// `image` is u8 or u16 [height, width, 1 to 4]. `compression` is zlib's level, -1 its default.
// Equal images give equal bytes.
std::string encode_png(const Tensor& image, int compression = -1);
// `image` is u8 [height, width, 1 or 3]. `quality` is 0 to 100.
std::string encode_jpeg(const Tensor& image, int quality = 95);

}  // namespace systole
