// MNIST on this machine's disk, as records and as IDX files.
#pragma once

#include <string>

namespace bench {

// How many images there are.
inline constexpr int64_t kMnistImages = 60000;

// A folder, made once a process and removed at its end, with `train.tfrecords` (features image_raw
// and label) and the files that libtorch reads (train-images-idx3-ubyte, train-labels-idx1-ubyte).
// The real images where ../shared/data/mnist has them, else random ones.
const std::string& mnist_folder();

}  // namespace bench
