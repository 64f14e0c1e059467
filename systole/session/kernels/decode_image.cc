#include "systole/io/images/image.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {
namespace {

std::vector<Tensor> run_decode_image(KernelContext& c) {
  return {decode_image(c.input(0).data<std::string>()[0],
                       static_cast<int>(c.attr<int64_t>("channels")))};
}

}  // namespace

extern const HostKernelDef decode_image_kernel{.op = "DecodeImage", .run = run_decode_image};

}  // namespace systole::kernels
