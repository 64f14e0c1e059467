#include "systole/io/images/image.h"

#include <array>
#include <utility>

#include "systole/io/images/image_codecs.h"

namespace systole {

std::string_view image_format_name(ImageFormat format) {
  constexpr std::array<std::string_view, 5> kNames = {"unknown format", "JPEG", "PNG", "GIF",
                                                      "BMP"};
  return kNames.at(static_cast<size_t>(format));
}

ImageFormat sniff_image(std::string_view bytes) {
  constexpr std::pair<std::string_view, ImageFormat> kMarks[] = {
      {"\xff\xd8\xff", ImageFormat::jpeg},
      {"\x89PNG\r\n\x1a\n", ImageFormat::png},
      {"GIF8", ImageFormat::gif},
      {"BM", ImageFormat::bmp}};
  for (const auto& [mark, format] : kMarks) {
    if (bytes.starts_with(mark)) return format;
  }
  return ImageFormat::unknown;
}

ImageInfo read_image_info(std::string_view bytes) {
  const ImageFormat format = sniff_image(bytes);
  if (format == ImageFormat::jpeg) return read_jpeg_info(bytes);
  if (format == ImageFormat::png) return read_png_info(bytes);
  return {.format = format};
}

Tensor decode_image(std::string_view bytes, int channels, const ImageLimits& limits) {
  const ImageFormat format = sniff_image(bytes);
  if (format == ImageFormat::jpeg) {
    return decode_jpeg(bytes, {.channels = channels, .limits = limits});
  }
  if (format == ImageFormat::png) {
    return decode_png(bytes, {.channels = channels, .limits = limits});
  }
  throw invalid_argument("decode_image: {} bytes, got {}, expected JPEG or PNG", bytes.size(),
                         image_format_name(format));
}

void check_image_size(std::string_view op, const ImageInfo& info, int64_t bytes_a_pixel,
                      const ImageLimits& limits) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(info.height, info.width, &bytes) ||
      __builtin_mul_overflow(bytes, bytes_a_pixel, &bytes) || bytes > limits.max_bytes) {
    throw make_error(Code::resource_exhausted,
                     "{}: size of the decoded image, got {} x {} pixels of {} bytes, expected at "
                     "most {} bytes",
                     op, info.height, info.width, bytes_a_pixel, limits.max_bytes);
  }
}

int64_t check_image_tensor(std::string_view op, const Tensor& image, bool wide, int max_channels) {
  const bool fits = image.dtype() == DType::u8 || (wide && image.dtype() == DType::u16);
  if (!fits || image.rank() != 3) {
    throw invalid_argument("{}: image, got {}, expected u8{}[height, width, channels]", op,
                           image.type(), wide ? " or u16 " : " ");
  }
  const int64_t channels = image.dim(2);
  const bool known = channels >= 1 && channels <= max_channels && (wide || channels != 2);
  if (!known) {
    throw invalid_argument("{}: channels, got {}, expected {}", op, channels,
                           wide ? "1 to 4" : "1 or 3");
  }
  if (image.dim(0) < 1 || image.dim(1) < 1) {
    throw invalid_argument("{}: image, got {}, expected at least one pixel", op, image.type());
  }
  return channels;
}

}  // namespace systole
