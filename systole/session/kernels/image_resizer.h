// Resizes images of any size on the host. (A compiled program takes one size only.)
#pragma once

#include "systole/graph/ops/image/image_resize.h"
#include "systole/session/host/host_kernel.h"

namespace systole {

// Returns the result of the resize op `context.node` for (images [b,h,w,c], size s32[2]). The dtype
// is f32 for interpolation, the dtype of the images where the axes only select pixels. Errors:
// INVALID_ARGUMENT for images without pixels.
Tensor resize_images(KernelContext& context, ResizeAxisFn axis);
// The same for ResizeBicubic.
Tensor resize_images_bicubic(KernelContext& context);

}  // namespace systole
