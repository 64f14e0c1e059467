// 506 districts of Boston with 13 figures each and the price of their houses.
// (tf.keras.datasets.boston_housing)
#pragma once

#include <string>

#include "systole/keras/datasets/data_set.h"

namespace systole::keras::datasets::boston_housing {

struct LoadOptions {
  std::string path = "boston_housing.npz";  // Keras's file: a path, or a name
  double test_split = 0.2;                  // the last part is for testing
  uint32_t seed = 113;                      // of the shuffle
  std::string data_dir = {};  // searched before $KERAS_HOME/datasets and ~/.keras/datasets
};
// x: f64 [n, 13], y: f64 [n], in thousands of dollars. Errors: NOT_FOUND, with where to get the
// file; INVALID_ARGUMENT for a test_split outside [0, 1]; those of reading it.
DataSet load_data(const LoadOptions& options = {});

}  // namespace systole::keras::datasets::boston_housing
