#include "systole/session/host/image_resizer.h"

namespace systole::kernels {

extern const HostKernelDef resize_bilinear_kernel{
    .op = "ResizeBilinear",
    .run = [](KernelContext& c) { return std::vector{resize_images(c, bilinear_axis)}; },
};

}  // namespace systole::kernels
