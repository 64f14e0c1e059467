#include "systole/io/image.h"
#include "systole/session/host_kernel.h"

namespace systole::kernels {
namespace {

std::vector<Tensor> run_decode_png(KernelContext& c) {
  const PngOptions options{.channels = static_cast<int>(c.attr<int64_t>("channels")),
                           .dtype = c.attr<DType>("dtype")};
  return {decode_png(c.input(0).data<std::string>()[0], options)};
}

}  // namespace

extern const HostKernelDef decode_png_kernel;
const HostKernelDef decode_png_kernel{.op = "DecodePng", .run = run_decode_png};

}  // namespace systole::kernels
