#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "systole/io/images/image_codecs.h"

namespace systole {
namespace {

static_assert(std::endian::native == std::endian::little, "PNG's numbers are swapped");

constexpr std::string_view kPngDecoder = "decode_png";
constexpr int64_t kMaxPngRatio = 1032;  // what zlib's format can reach

// As in the JPEG decoder: libpng jumps back to run(), inside which no object may have a destructor.
class PngDecoder {
 public:
  explicit PngDecoder(std::string_view bytes) : bytes_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw make_error(Code::resource_exhausted, "{}: decoder, got no memory", kPngDecoder);
    }
    run([this] {
      png_set_read_fn(png_, this, on_read);
      png_set_chunk_malloc_max(png_, 8U << 20U);
      png_set_chunk_cache_max(png_, 128);
    });
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  ImageInfo read_header() {
    run([this] { png_read_info(png_, info_); });
    const int color = png_get_color_type(png_, info_);
    transparent_ = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    int channels = png_get_channels(png_, info_);
    if (color == PNG_COLOR_TYPE_PALETTE) channels = transparent_ ? 4 : 3;
    return {.format = ImageFormat::png,
            .height = png_get_image_height(png_, info_),
            .width = png_get_image_width(png_, info_),
            .channels = channels,
            .bit_depth = png_get_bit_depth(png_, info_)};
  }

  // Checked before memory for the pixels is allocated.
  void check_size(const ImageInfo& info, int64_t bytes_a_pixel, const ImageLimits& limits) const {
    check_image_size(kPngDecoder, info, bytes_a_pixel, limits);
    const int64_t stored = info.height * ((info.width * info.bit_depth + 7) / 8);
    const auto there = static_cast<int64_t>(bytes_.size());
    if (stored / kMaxPngRatio > there) fail("fewer bytes than its size in pixels needs");
  }

  Tensor decode(const ImageInfo& file, const PngOptions& options) {
    const int channels = options.channels == 0 ? file.channels : options.channels;
    const bool wide = options.dtype == DType::u16;
    run([this, channels, wide] { convert(channels, wide); });

    Tensor image(options.dtype, {file.height, file.width, channels});
    const size_t row_bytes = static_cast<size_t>(image.byte_size() / file.height);
    const bool widen = wide && file.bit_depth <= 8;
    if (png_get_rowbytes(png_, info_) != (widen ? row_bytes / 2 : row_bytes)) {
      throw internal_error("{}: bytes of a row, got {}, expected {}", kPngDecoder,
                           png_get_rowbytes(png_, info_), row_bytes);
    }
    rows_.resize(static_cast<size_t>(file.height));
    auto* out = static_cast<unsigned char*>(image.raw());
    for (size_t row = 0; row < rows_.size(); ++row) rows_[row] = out + row * row_bytes;
    run([this] {
      png_read_image(png_, rows_.data());
      png_read_end(png_, nullptr);
    });
    if (widen) widen_rows(row_bytes / 2);
    return image;
  }

 private:
  template <class Part>
  void run(const Part& part) {
    // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp, cert-err52-cpp): the library's only way
    if (setjmp(jump_) != 0) fail(message_);
    part();
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw invalid_argument("{}: {} bytes, got '{}', expected a whole PNG image", kPngDecoder,
                           bytes_.size(), what);
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::snprintf(self.message_, sizeof(self.message_), "%s", message);
    std::longjmp(self.jump_, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep out, size_t size) {
    auto& self = *static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (size > self.bytes_.size() - self.at_) png_error(png, "the end of the bytes");
    std::memcpy(out, self.bytes_.data() + self.at_, size);
    self.at_ += size;
  }

  // Sets the conversions that libpng applies to each row. Called inside run().
  void convert(int channels, bool wide) {
    const int color = png_get_color_type(png_, info_);
    const int depth = png_get_bit_depth(png_, info_);
    const bool gray = (color & PNG_COLOR_MASK_COLOR) == 0;
    const bool alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (gray && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (channels % 2 == 0) {
      if (transparent_) {
        png_set_tRNS_to_alpha(png_);
      } else if (!alpha) {
        png_set_add_alpha(png_, (1U << static_cast<unsigned>(depth > 8 ? 16 : 8)) - 1,
                          PNG_FILLER_AFTER);
      }
    } else if (alpha || transparent_) {
      png_set_strip_alpha(png_);
    }
    if (depth > 8 && !wide) png_set_strip_16(png_);
    if (depth > 8 && wide) png_set_swap(png_);
    if (channels < 3 && !gray) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (channels >= 3 && gray) png_set_gray_to_rgb(png_);
    (void)png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  // Expands the bytes at the start of each row to 16-bit numbers, from last to first.
  void widen_rows(size_t count) {
    for (unsigned char* row : rows_) {
      for (size_t i = count; i-- > 0;) {
        const unsigned char value = row[i];
        row[2 * i] = value;
        row[2 * i + 1] = value;
      }
    }
  }

  std::string_view bytes_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_{};
  char message_[200] = {};
  bool transparent_ = false;  // a color or palette entries of it
  std::vector<unsigned char*> rows_;
};

}  // namespace

ImageInfo read_png_info(std::string_view bytes) { return PngDecoder(bytes).read_header(); }

Tensor decode_png(std::string_view bytes, const PngOptions& options) {
  if (options.channels < 0 || options.channels > 4) {
    throw invalid_argument("{}: channels, got {}, expected 0 to 4", kPngDecoder, options.channels);
  }
  if (options.dtype != DType::u8 && options.dtype != DType::u16) {
    throw invalid_argument("{}: dtype, got {}, expected u8 or u16", kPngDecoder, options.dtype);
  }
  PngDecoder decoder(bytes);
  const ImageInfo info = decoder.read_header();
  const int channels = options.channels == 0 ? info.channels : options.channels;
  decoder.check_size(info, channels * size_of(options.dtype), options.limits);
  return decoder.decode(info, options);
}

}  // namespace systole
