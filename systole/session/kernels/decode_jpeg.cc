#include "systole/io/images/image.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {
namespace {

// Also decodes PNG, as TensorFlow's op does: some data sets of JPEG files contain PNG files.
std::vector<Tensor> run_decode_jpeg(KernelContext& c) {
  const std::string& bytes = c.input(0).data<std::string>()[0];
  const auto channels = static_cast<int>(c.attr<int64_t>("channels"));
  if (sniff_image(bytes) == ImageFormat::png) return {decode_png(bytes, {.channels = channels})};
  const JpegOptions options{.channels = channels,
                            .ratio = static_cast<int>(c.attr<int64_t>("ratio")),
                            .fancy_upscaling = c.attr<bool>("fancy_upscaling"),
                            .try_recover_truncated = c.attr<bool>("try_recover_truncated"),
                            .dct_method = c.attr<std::string>("dct_method")};
  return {decode_jpeg(bytes, options)};
}

}  // namespace

extern const HostKernelDef decode_jpeg_kernel{.op = "DecodeJpeg", .run = run_decode_jpeg};

}  // namespace systole::kernels
