// ResNet-50 on ImageNet (He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016;
// the stride of a block in its 3 x 3 convolution), whose training on Cloud TPUs MLPerf measured.
#pragma once

#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// The work of one core that trains on `images` images of 224 x 224: convolutions of bfloat16
// activations and float32 weights, batch normalization, ReLU, and momentum. Images come from the
// device: infeed_bytes is 0.
StepCost resnet50_cost(int64_t images);

}  // namespace systole::profile
