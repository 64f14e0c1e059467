// 50,000 + 10,000 colour images of 32 x 32 pixels. (tf.keras.datasets.cifar10, cifar100) Source:
// Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
#pragma once

#include <string>

#include "systole/keras/datasets/data_set.h"

namespace systole::keras::datasets {

namespace cifar10 {

struct LoadOptions {
  // Holds cifar-10-batches-py/ or cifar-10-batches-bin/, or the archive of one of them
  // (cifar-10-python.tar.gz, cifar-10-binary.tar.gz, cifar-10-batches-py.tar.gz), or a folder
  // cifar10/ with them. Searched before $KERAS_HOME/datasets and ~/.keras/datasets.
  std::string data_dir = {};
};
// x: u8 [50000, 32, 32, 3] and [10000, 32, 32, 3], y: u8 [n, 1] from 0 to 9. Errors: NOT_FOUND,
// with where to get the files; INVALID_ARGUMENT and DATA_LOSS for broken ones.
DataSet load_data(const LoadOptions& options = {});

}  // namespace cifar10

namespace cifar100 {

struct LoadOptions {
  std::string label_mode = "fine";  // 100 classes; "coarse": 20
  std::string data_dir = {};        // as of cifar10: cifar-100-python, cifar-100-binary, cifar100
};
// As cifar10::load_data(). y: u8 [n, 1]. Errors: also INVALID_ARGUMENT for another label_mode.
DataSet load_data(const LoadOptions& options = {});

}  // namespace cifar100

}  // namespace systole::keras::datasets
