// GNMT (Wu et al., "Google's neural machine translation system", 2016) with four layers of encoder
// and decoder, as MLPerf 0.5 trained it on Cloud TPUs.
#pragma once

#include "systole/profile/prediction/step_cost.h"

namespace systole::profile {

// The work of one core that trains on `sentences` pairs. Its loops run `words` times, for the
// longest sentence of the batch; the arrays have room for 48. LSTMs of 1,024 units, bfloat16 in
// loops, whose backward pass computes the forward pass again; a shared vocabulary of 32,316 words;
// Adam with clipped gradients.
StepCost gnmt_cost(int64_t sentences, int64_t words);

}  // namespace systole::profile
