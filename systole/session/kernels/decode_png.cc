#include "systole/io/images/image.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {
namespace {

// Also decodes JPEG with 8 bits, as TensorFlow's op does.
std::vector<Tensor> run_decode_png(KernelContext& c) {
  const std::string& bytes = c.input(0).data<std::string>()[0];
  const PngOptions options{.channels = static_cast<int>(c.attr<int64_t>("channels")),
                           .dtype = c.attr<DType>("dtype")};
  if (sniff_image(bytes) == ImageFormat::jpeg && options.dtype == DType::u8) {
    return {decode_jpeg(bytes, {.channels = options.channels})};
  }
  return {decode_png(bytes, options)};
}

}  // namespace

extern const HostKernelDef decode_png_kernel{.op = "DecodePng", .run = run_decode_png};

}  // namespace systole::kernels
