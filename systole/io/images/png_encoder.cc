#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdio>

#include "systole/io/images/image_codecs.h"

namespace systole {
namespace {

static_assert(std::endian::native == std::endian::little, "PNG's numbers are swapped");

constexpr std::string_view kPngEncoder = "encode_png";

// As in the decoders, code inside run() must not own objects with destructors.
class PngEncoder {
 public:
  PngEncoder() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw make_error(Code::resource_exhausted, "{}: encoder, got no memory", kPngEncoder);
    }
    run([this] { png_set_write_fn(png_, this, on_write, nullptr); });
  }
  ~PngEncoder() { png_destroy_write_struct(&png_, &info_); }
  PngEncoder(const PngEncoder&) = delete;
  PngEncoder& operator=(const PngEncoder&) = delete;

  std::string encode(const Tensor& image, int compression) {
    constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                               PNG_COLOR_TYPE_RGB_ALPHA};
    const int color = kColors[image.dim(2) - 1];
    const auto height = static_cast<png_uint_32>(image.dim(0));
    const auto width = static_cast<png_uint_32>(image.dim(1));
    const auto row_bytes = static_cast<size_t>(image.byte_size() / image.dim(0));
    const auto* pixels = static_cast<const unsigned char*>(image.raw());
    const bool wide = image.dtype() == DType::u16;
    run([this, color, height, width, row_bytes, pixels, wide, compression] {
      png_set_IHDR(png_, info_, width, height, wide ? 16 : 8, color, PNG_INTERLACE_NONE,
                   PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_set_compression_level(png_, compression);
      png_write_info(png_, info_);
      if (wide) png_set_swap(png_);
      for (size_t row = 0; row < height; ++row) png_write_row(png_, pixels + row * row_bytes);
      png_write_end(png_, nullptr);
    });
    if (full_)
      throw make_error(Code::resource_exhausted, "{}: encoded image, got no memory", kPngEncoder);
    return std::move(bytes_);
  }

 private:
  template <class Part>
  void run(const Part& part) {
    // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp, cert-err52-cpp): the library's only way
    if (setjmp(jump_) != 0) {
      throw invalid_argument("{}: image, got '{}', expected one that PNG can hold", kPngEncoder,
                             message_);
    }
    part();
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngEncoder*>(png_get_error_ptr(png));
    std::snprintf(self.message_, sizeof(self.message_), "%s", message);
    std::longjmp(self.jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_write(png_structp png, png_bytep bytes, size_t size) {
    auto& self = *static_cast<PngEncoder*>(png_get_io_ptr(png));
    try {
      self.bytes_.append(reinterpret_cast<const char*>(bytes), size);
    } catch (const std::bad_alloc&) {
      self.full_ = true;  // no exception may pass through C
    }
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_{};
  char message_[200] = {};
  std::string bytes_;
  bool full_ = false;
};

}  // namespace

std::string encode_png(const Tensor& image, int compression) {
  (void)check_image_tensor(kPngEncoder, image, true, 4);
  if (compression < -1 || compression > 9) {
    throw invalid_argument("{}: compression, got {}, expected -1 to 9", kPngEncoder, compression);
  }
  return PngEncoder().encode(image, compression);
}

}  // namespace systole
