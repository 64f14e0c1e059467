// MNIST for the examples, converted from IDX files to TFRecords.
#pragma once

#include <string>

namespace examples {

struct MnistFiles {
  std::string train;  // TFRecords of tf.Examples {image_raw: 784 bytes, label: int64}
  std::string test;
};

// The folder ../shared/data beside the source tree.
std::string default_data_dir();

// Writes <folder>/mnist_train.tfrecord and mnist_test.tfrecord from <data_dir>/mnist/*.gz, unless
// they exist and were made from those files. Errors: those of reading IDX files and writing
// records.
MnistFiles mnist_records(const std::string& data_dir, const std::string& folder);

}  // namespace examples
