// Images of any size to one size, on the host: a compiled program is made for one size of images.
#pragma once

#include "systole/graph/ops/image/image_resize.h"
#include "systole/session/host/host_kernel.h"

namespace systole {

// What the resize op `context.node` gives for (images [b,h,w,c], size s32[2]); f32 between pixels,
// or the images' dtype where the axes only choose pixels. Errors: INVALID_ARGUMENT for images
// without pixels.
Tensor resize_images(KernelContext& context, ResizeAxisFn axis);

}  // namespace systole
