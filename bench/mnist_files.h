// MNIST on this machine's disk, as records and as IDX files.
#pragma once

#include <string>

#include "systole/systole.h"

namespace bench {

// How many images there are.
inline constexpr int64_t kMnistImages = 60000;

// A folder, made once a process and removed at its end, with `train.tfrecords` (features image_raw
// and label) and the files that libtorch reads (train-images-idx3-ubyte, train-labels-idx1-ubyte).
// The real images where ../shared/data/mnist has them, else random ones.
const std::string& mnist_folder();

// Of one record: (f32[784] in [-0.5, 0.5], s32[]).
st::Nest<st::Output> parse_mnist(const st::Nest<st::Output>& serialized);

}  // namespace bench
