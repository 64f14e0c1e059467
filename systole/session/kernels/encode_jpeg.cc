#include "systole/io/images/image.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {
namespace {

std::vector<Tensor> run_encode_jpeg(KernelContext& c) {
  const std::string bytes = encode_jpeg(c.input(0), static_cast<int>(c.attr<int64_t>("quality")));
  return {Tensor::scalar<std::string>(bytes)};
}

}  // namespace

extern const HostKernelDef encode_jpeg_kernel{.op = "EncodeJpeg", .run = run_encode_jpeg};

}  // namespace systole::kernels
