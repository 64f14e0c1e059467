// clang-format off
#include <cstddef>
#include <cstdio>  // jpeglib.h needs both
// clang-format on
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>

#include "systole/io/images/image_codecs.h"

namespace systole {
namespace {

constexpr std::string_view kJpegEncoder = "encode_jpeg";

// As in the decoder, code inside run() must not own objects with destructors.
class JpegEncoder {
 public:
  JpegEncoder() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr info) {
      auto& self = *static_cast<JpegEncoder*>(info->client_data);
      self.errors_.format_message(info, self.message_);
      std::longjmp(self.jump_, 1);
    };
    info_.client_data = this;
    run([this] {
      jpeg_create_compress(&info_);
      jpeg_mem_dest(&info_, &bytes_, &size_);
    });
  }
  ~JpegEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg's
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  std::string encode(const Tensor& image, int quality) {
    const auto height = static_cast<JDIMENSION>(image.dim(0));
    info_.image_height = height;
    info_.image_width = static_cast<JDIMENSION>(image.dim(1));
    info_.input_components = static_cast<int>(image.dim(2));
    info_.in_color_space = image.dim(2) == 1 ? JCS_GRAYSCALE : JCS_RGB;
    const size_t row_bytes = static_cast<size_t>(image.dim(1) * image.dim(2));
    // libjpeg takes non-const rows but does not write to them.
    auto* pixels = const_cast<uint8_t*>(image.data<uint8_t>().data());
    run([this, quality, height, pixels, row_bytes] {
      jpeg_set_defaults(&info_);
      jpeg_set_quality(&info_, quality, TRUE);
      jpeg_start_compress(&info_, TRUE);
      for (JDIMENSION row = 0; row < height; ++row) {
        JSAMPROW at = pixels + row * row_bytes;
        jpeg_write_scanlines(&info_, &at, 1);
      }
      jpeg_finish_compress(&info_);
    });
    return {reinterpret_cast<const char*>(bytes_), size_};
  }

 private:
  template <class Part>
  void run(const Part& part) {
    // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp, cert-err52-cpp): the library's only way
    if (setjmp(jump_) != 0) {
      throw invalid_argument("{}: image, got '{}', expected one that JPEG can hold", kJpegEncoder,
                             message_);
    }
    part();
  }

  jpeg_compress_struct info_{};
  jpeg_error_mgr errors_{};
  std::jmp_buf jump_{};
  char message_[JMSG_LENGTH_MAX] = {};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;  // NOLINT(google-runtime-int): libjpeg's type
};

}  // namespace

std::string encode_jpeg(const Tensor& image, int quality) {
  (void)check_image_tensor(kJpegEncoder, image, false, 3);
  if (quality < 0 || quality > 100) {
    throw invalid_argument("{}: quality, got {}, expected 0 to 100", kJpegEncoder, quality);
  }
  return JpegEncoder().encode(image, quality);
}

}  // namespace systole
