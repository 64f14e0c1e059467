// MNIST on disk, as records and as IDX files.
#pragma once

#include <string>

#include "systole/systole.h"

namespace bench {

// The number of images.
inline constexpr int64_t kMnistImages = 60000;

// Returns a folder with `train.tfrecords` (features image_raw and label). It is written once per
// process and removed at exit. Images come from ../shared/data/mnist if it exists, else they are
// random.
const std::string& mnist_folder();

// Parses one record to (f32[784] in [-0.5, 0.5], s32[]).
st::Nest<st::Output> parse_mnist(const st::Nest<st::Output>& serialized);

}  // namespace bench
