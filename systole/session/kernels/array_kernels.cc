// Ops that change a shape and share the elements.
#include "systole/graph/ops/array/array_common.h"
#include "systole/session/host/host_kernel.h"

namespace systole::kernels {

extern const HostKernelDef ensure_shape_kernel{
    .op = "EnsureShape",
    .run =
        [](KernelContext& c) {
          static_cast<void>(ensured(c.input(0).shape(), c.attr<Shape>("shape")));
          return std::vector{c.input(0)};
        },
};

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
