// JPEG and PNG, with small limits; what is decoded is encoded again as PNG and decodes as itself.
#include "systole/io/images/image.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "systole/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const systole::ImageLimits limits = {.max_bytes = 1 << 20, .max_jpeg_scans = 10};
  systole::Tensor image;
  try {
    (void)systole::read_image_info(bytes);
    image = systole::decode_image(bytes, 0, limits);
  } catch (const systole::Error&) {
    return 0;
  }
  if (!systole::decode_png(systole::encode_png(image)).identical(image)) std::abort();
  return 0;
}
