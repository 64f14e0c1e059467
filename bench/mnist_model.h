// The network of the MNIST training figures: 5x5x32, pool, 5x5x64, pool, dense 128, dropout 0.4,
// dense 10; sparse softmax cross entropy, SGD on all replicas.
#pragma once

#include "systole/systole.h"

namespace bench {

st::TPUEstimatorSpec mnist_model_fn(const st::Nest<st::Output>& features,
                                    const st::Nest<st::Output>& labels, st::Mode mode,
                                    const st::Params& params);

}  // namespace bench
