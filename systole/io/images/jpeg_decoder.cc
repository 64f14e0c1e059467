// clang-format off
#include <cstddef>
#include <cstdio>  // jpeglib.h needs both
// clang-format on
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

#include "systole/io/images/image_codecs.h"

namespace systole {
namespace {

constexpr std::string_view kJpegDecoder = "decode_jpeg";

// libjpeg writes rows aligned to this boundary with non-temporal stores, and the next reader of the
// image waits for memory.
constexpr uintptr_t kBorder = 32;
bool is_on_border(const uint8_t* row) { return reinterpret_cast<uintptr_t>(row) % kBorder == 0; }

// libjpeg reports an error by calling a function that must not return: it jumps back to run(),
// which throws. Code inside run() must not own objects with destructors.
class JpegDecoder {
 public:
  JpegDecoder(std::string_view bytes, const ImageLimits& limits) : limits_(limits), bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr info) {
      JpegDecoder& self = of(info);
      self.keep_message(info);
      std::longjmp(self.jump_, 1);
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0) of(info).warn(info);
    };
    info_.client_data = this;
    try {
      run([this] { open(); });
    } catch (...) {
      jpeg_destroy_decompress(&info_);
      throw;
    }
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  ImageInfo read_header() {
    run([this] { jpeg_read_header(&info_, TRUE); });
    return {.format = ImageFormat::jpeg,
            .height = info_.image_height,
            .width = info_.image_width,
            .channels = std::min(info_.num_components, 3)};
  }

  // Refuses a file that is too short for its size, before any work of that size.
  void check_bytes() {
    int64_t blocks = 0;
    for (int i = 0; i < info_.num_components; ++i) {
      const jpeg_component_info& component = info_.comp_info[i];
      blocks += int64_t{component.width_in_blocks} * component.height_in_blocks;
    }
    // A Huffman code has at least a bit for the mean of each block.
    const bool fits = blocks / 8 <= static_cast<int64_t>(bytes_.size());
    if (!fits && info_.arith_code == FALSE) fail("fewer bytes than its size in pixels needs");
  }

  Tensor decode(const ImageInfo& file, const JpegOptions& options) {
    const int channels = options.channels == 0 ? file.channels : options.channels;
    const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (cmyk) info_.out_color_space = JCS_CMYK;
    info_.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(options.ratio);
    info_.dct_method = options.dct_method == "INTEGER_ACCURATE" ? JDCT_ISLOW : JDCT_IFAST;
    run([this] { jpeg_start_decompress(&info_); });
    if (info_.output_components != (cmyk ? 4 : channels)) fail("colors of another kind");

    Tensor image(DType::u8, {info_.output_height, info_.output_width, channels});
    if (cmyk) {
      read_cmyk(image.data<uint8_t>().data(), channels);
    } else {
      read_rows(image.data<uint8_t>().data());
    }
    if (damage_.empty()) run([this] { jpeg_finish_decompress(&info_); });
    if (!damage_.empty() && !options.try_recover_truncated) fail(damage_);
    return image;
  }

 private:
  static JpegDecoder& of(j_common_ptr info) {
    return *static_cast<JpegDecoder*>(info->client_data);
  }

  void open() {
    jpeg_create_decompress(&info_);
    // Set again: creating the object clears all but the error manager and client_data.
    progress_.progress_monitor = [](j_common_ptr info) { of(info).count_scans(); };
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
  }

  template <class Part>
  void run(const Part& part) {
    // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp, cert-err52-cpp): the library's only way
    if (setjmp(jump_) != 0) fail(message_);
    part();
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw invalid_argument("{}: {} bytes, got '{}', expected a whole JPEG image", kJpegDecoder,
                           bytes_.size(), what);
  }

  void keep_message(j_common_ptr info) { errors_.format_message(info, message_); }

  // Damage that libjpeg tolerates. Bytes between markers and unknown versions change no pixel.
  void warn(j_common_ptr info) {
    const int code = errors_.msg_code;
    if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
    if (!damage_.empty()) return;
    keep_message(info);
    damage_ = message_;
  }

  void count_scans() {
    if (info_.input_scan_number <= limits_.max_jpeg_scans) return;
    std::snprintf(message_, sizeof(message_), "more than %d scans", limits_.max_jpeg_scans);
    std::longjmp(jump_, 1);
  }

  void read_rows(uint8_t* image) {
    const size_t row_bytes = size_t{info_.output_width} * info_.output_components;
    row_.resize(row_bytes + kBorder);
    uint8_t* const aside = row_.data() + (is_on_border(row_.data()) ? 1 : 0);
    run([this, image, aside, row_bytes] {
      while (info_.output_scanline < info_.output_height) {
        uint8_t* const to = image + info_.output_scanline * row_bytes;
        JSAMPROW row = is_on_border(to) ? aside : to;
        jpeg_read_scanlines(&info_, &row, 1);
        if (row != to) std::memcpy(to, row, row_bytes);
      }
    });
  }

  // Adobe's programs write inverted inks, with a marker.
  void read_cmyk(uint8_t* out, int channels) {
    const size_t width = info_.output_width;
    row_.resize(width * 4);
    const bool inverted = info_.saw_Adobe_marker != FALSE;
    while (info_.output_scanline < info_.output_height) {
      run([this] {
        JSAMPROW row = row_.data();
        jpeg_read_scanlines(&info_, &row, 1);
      });
      for (size_t x = 0; x < width; ++x) {
        int rgb[3];
        const int black = inverted ? row_[4 * x + 3] : 255 - row_[4 * x + 3];
        for (size_t c = 0; c < 3; ++c) {
          const int ink = inverted ? row_[4 * x + c] : 255 - row_[4 * x + c];
          rgb[c] = black * ink / 255;
        }
        if (channels == 1) {
          *out++ = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
        } else {
          for (const int value : rgb) *out++ = static_cast<uint8_t>(value);
        }
      }
    }
  }

  ImageLimits limits_;
  std::string_view bytes_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  char message_[JMSG_LENGTH_MAX] = {};
  std::string damage_;  // the first that changes pixels
  std::vector<uint8_t> row_;
};

void check_options(const JpegOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3) {
    throw invalid_argument("{}: channels, got {}, expected 0, 1 or 3", kJpegDecoder,
                           options.channels);
  }
  const int ratio = options.ratio;
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    throw invalid_argument("{}: ratio, got {}, expected 1, 2, 4 or 8", kJpegDecoder, ratio);
  }
  const std::string& method = options.dct_method;
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    throw invalid_argument(
        "{}: dct_method, got '{}', expected '', 'INTEGER_FAST' or 'INTEGER_ACCURATE'", kJpegDecoder,
        method);
  }
}

}  // namespace

ImageInfo read_jpeg_info(std::string_view bytes) { return JpegDecoder(bytes, {}).read_header(); }

Tensor decode_jpeg(std::string_view bytes, const JpegOptions& options) {
  check_options(options);
  JpegDecoder decoder(bytes, options.limits);
  const ImageInfo info = decoder.read_header();
  check_image_size(kJpegDecoder, info, options.channels == 0 ? info.channels : options.channels,
                   options.limits);
  if (!options.try_recover_truncated) decoder.check_bytes();
  return decoder.decode(info, options);
}

}  // namespace systole
