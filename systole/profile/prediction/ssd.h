// SSD with ResNet-34 on COCO (Liu et al., "SSD: single shot multibox detector", 2016), as MLPerf
// 0.5 trained it on Cloud TPUs.
#pragma once

#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// The work of one core that trains on `images` images of 300 x 300: bfloat16 activations and images
// from the host, float32 weights, labels and losses of 8,732 boxes, and momentum. The sort that
// finds hard negative boxes is left out.
StepCost ssd_cost(int64_t images);

}  // namespace systole::profile
