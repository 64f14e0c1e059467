#include "systole/io/images/image.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {
namespace {

std::vector<Tensor> run_encode_png(KernelContext& c) {
  const std::string bytes =
      encode_png(c.input(0), static_cast<int>(c.attr<int64_t>("compression")));
  return {Tensor::scalar<std::string>(bytes)};
}

}  // namespace

extern const HostKernelDef encode_png_kernel{.op = "EncodePng", .run = run_encode_png};

}  // namespace systole::kernels
