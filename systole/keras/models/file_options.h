// Options of saving and loading, and what loading did.
#pragma once

#include <string>
#include <vector>

namespace systole::keras {

struct LoadReport {
  std::vector<std::string> loaded;   // layers of the model that got their weights
  std::vector<std::string> skipped;  // layers of the file that were not used, with the reason
  std::vector<std::string> missing;  // layers of the model with weights for which the file had none

  // "loaded 2 layers: lstm, dense; skipped 1: old (no layer of this name); missing 0"
  std::string to_string() const;
};

struct LoadWeightsOptions {
  bool by_name = false;        // pairs layers by name, not in order; unknown names are skipped
  bool skip_mismatch = false;  // with by_name: also layers whose weights have other shapes
};

struct SaveWeightsOptions {
  bool overwrite = true;  // false: an existing file is an error
  // "h5", "tf"; by default by the path: .h5, .keras, .hdf5, else tf. A path that ends in
  // .weights.h5 has the layout of Keras 3.
  std::string save_format = {};
};

struct SaveOptions {
  bool overwrite = true;
  bool include_optimizer = true;
};

}  // namespace systole::keras
