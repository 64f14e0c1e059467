// 60,000 + 10,000 images of 28 x 28 pixels in 10 classes: handwritten digits, and clothes.
// (tf.keras.datasets.mnist, tf.keras.datasets.fashion_mnist)
#pragma once

#include <string>
#include <vector>

#include "systole/keras/datasets/data_set.h"

namespace systole::keras::datasets {

namespace mnist {

struct LoadOptions {
  // Keras's file: a path, or a name. Where it is not found, the four original IDX files
  // (train-images-idx3-ubyte.gz, ...) are read.
  std::string path = "mnist.npz";
  // Holds the file, or a folder mnist/ with it or the IDX files. Searched before
  // $KERAS_HOME/datasets and ~/.keras/datasets.
  std::string data_dir = {};
};
// x: u8 [60000, 28, 28] and [10000, 28, 28], y: u8 [n], the digits. Errors: NOT_FOUND, with where
// to get the files; those of reading them.
DataSet load_data(const LoadOptions& options = {});

}  // namespace mnist

namespace fashion_mnist {

struct LoadOptions {
  // Holds a folder fashion-mnist/ with the four original IDX files. Searched before
  // $KERAS_HOME/datasets and ~/.keras/datasets.
  std::string data_dir = {};
};
// As mnist::load_data().
DataSet load_data(const LoadOptions& options = {});

// "T-shirt/top", "Trouser"...: the names of the classes.
const std::vector<std::string>& class_names();

}  // namespace fashion_mnist

}  // namespace systole::keras::datasets
