#include <algorithm>

#include "systole/session/host_kernel.h"

namespace systole::kernels {

// The same elements: nothing is copied.
extern const HostKernelDef squeeze_kernel;
const HostKernelDef squeeze_kernel{
    .op = "Squeeze",
    .run =
        [](KernelContext& c) {
          const Tensor& x = c.input(0);
          const auto& axes = c.attr<std::vector<int64_t>>("squeeze_dims");
          const auto is_given = [&](int64_t axis) {
            return std::ranges::find(axes, axis) != axes.end() ||
                   std::ranges::find(axes, axis - x.rank()) != axes.end();
          };
          Dims dims;
          for (int axis = 0; axis < x.rank(); ++axis) {
            if (axes.empty() ? x.dim(axis) == 1 : is_given(axis)) {
              if (x.dim(axis) == 1) continue;
              throw invalid_argument("size of dimension {} of {}, got {}, expected 1", axis,
                                     x.type(), x.dim(axis));
            }
            dims.push_back(x.dim(axis));
          }
          return std::vector{x.reshape(Shape(std::move(dims)))};
        },
};

}  // namespace systole::kernels
