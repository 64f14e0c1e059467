#include "systole/session/host/host_kernel.h"

namespace systole::kernels {

// Shares the elements; copies nothing.
extern const HostKernelDef expand_dims_kernel{
    .op = "ExpandDims",
    .run =
        [](KernelContext& c) {
          const Tensor& x = c.input(0);
          auto axis = static_cast<int64_t>(c.input(1).as_double(0));
          axis += axis < 0 ? x.rank() + 1 : 0;
          Dims dims(x.shape().begin(), x.shape().end());
          dims.insert(dims.begin() + axis, 1);
          return std::vector{x.reshape(Shape(std::move(dims)))};
        },
};

}  // namespace systole::kernels
