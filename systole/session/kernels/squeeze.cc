#include "systole/graph/ops/array/array_common.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {

// Shares the elements; copies nothing.
extern const HostKernelDef squeeze_kernel{
    .op = "Squeeze",
    .run =
        [](KernelContext& c) {
          const Tensor& x = c.input(0);
          return std::vector{
              x.reshape(squeezed(x.shape(), c.attr<std::vector<int64_t>>("squeeze_dims")))};
        },
};

}  // namespace systole::kernels
