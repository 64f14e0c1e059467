// JPEG and PNG images in memory, decoded as TensorFlow's decode_jpeg and decode_png do. All
// functions are thread-safe. Errors: INVALID_ARGUMENT for bytes that are no image of the kind, are
// cut or broken, and for an option that does not fit; RESOURCE_EXHAUSTED for an image of more
// decoded bytes than ImageLimits allows, before memory is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/base/tensor.h"

namespace systole {

enum class ImageFormat { unknown, jpeg, png, gif, bmp };
// "JPEG", "PNG", "GIF", "BMP", "unknown format".
std::string_view image_format_name(ImageFormat format);
// From the first bytes.
ImageFormat sniff_image(std::string_view bytes);

struct ImageInfo {
  ImageFormat format = ImageFormat::unknown;
  int64_t height = 0;
  int64_t width = 0;
  int channels = 0;   // of the decoded image when it is left to the file
  int bit_depth = 8;  // of a channel in the file: 1 to 16
};
// Reads no more than the header. Of GIF and BMP only the format is known.
ImageInfo read_image_info(std::string_view bytes);

struct ImageLimits {
  int64_t max_bytes = int64_t{512} << 20U;  // of a decoded image
  int max_jpeg_scans = 500;                 // a small progressive file can ask for any number
};

struct JpegOptions {
  int channels = 0;  // 1: grayscale, 3: RGB, 0: as in the file (CMYK becomes RGB)
  int ratio = 1;     // 1, 2, 4 or 8: decoded to 1/ratio of its size, rounded up
  bool fancy_upscaling = true;
  // A cut file gives what there is of it, the rest gray; else it is an error, and so is other
  // damage that changes pixels.
  bool try_recover_truncated = false;
  // "INTEGER_FAST" or "INTEGER_ACCURATE"; "" is the former, as in TensorFlow.
  std::string dct_method;
  ImageLimits limits;
};
// u8 [height, width, channels].
Tensor decode_jpeg(std::string_view bytes, const JpegOptions& options = {});

struct PngOptions {
  // 1: grayscale, 2: and alpha, 3: RGB, 4: and alpha, 0: as in the file (a palette becomes RGB).
  int channels = 0;
  DType dtype = DType::u8;  // or u16. 8 bits become 16 by repeating them, 16 become 8 by cutting
  ImageLimits limits;
};
// u8 or u16 [height, width, channels].
Tensor decode_png(std::string_view bytes, const PngOptions& options = {});

// Either, by its first bytes; `channels` 0, 1 or 3.
Tensor decode_image(std::string_view bytes, int channels = 0, const ImageLimits& limits = {});

// image: u8 or u16 [height, width, 1 to 4]. `compression` is zlib's level, -1 its default. The same
// image gives the same bytes.
std::string encode_png(const Tensor& image, int compression = -1);
// image: u8 [height, width, 1 or 3]. `quality` 0 to 100.
std::string encode_jpeg(const Tensor& image, int quality = 95);

}  // namespace systole
