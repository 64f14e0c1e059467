#include "systole/session/host/image_resizer.h"

namespace systole::kernels {

extern const HostKernelDef resize_nearest_neighbor_kernel{
    .op = "ResizeNearestNeighbor",
    .run = [](KernelContext& c) { return std::vector{resize_images(c, nearest_axis)}; },
};

}  // namespace systole::kernels
