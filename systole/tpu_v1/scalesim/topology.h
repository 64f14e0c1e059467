// SCALE-Sim's topology files, and its cycle counts for a weight-stationary array.
//
// Convolutions: a header, then `name, IFMAP height, IFMAP width, filter height, filter width,
// channels, filters, stride,`. Products: a header `Layer, M, N, K,`, then `name, M, N, K,`. Rows
// end in a comma. Blank rows, rows of commas and titles of sections (a name and nothing else) are
// skipped. A row that cannot be read, or has more than 1e15 multiply-adds, is skipped with a note.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace systole::tpu_v1 {

// A layer as a matrix product: `vectors` rows of `inputs` features give `outputs` features.
// Convolutions have no padding, and a batch of one. A depthwise layer (its name contains "DP") is
// `repeats` products, one for each channel.
struct TopologyLayer {
  std::string name;
  int64_t vectors = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t repeats = 1;
  int64_t line = 0;  // in the file

  int64_t multiply_adds() const { return vectors * inputs * outputs * repeats; }
  int64_t weights() const { return inputs * outputs * repeats; }
};

struct Topology {
  std::vector<TopologyLayer> layers;
  std::vector<std::string> notes;  // "<path>:<line>: <what>" about skipped rows
};

// Errors: INVALID_ARGUMENT for a text without any layer.
Topology parse_topology(std::string_view text, const std::string& path);

// SCALE-Sim's "Total cycles" of a layer on an array of rows x columns, mode ws: folds run one after
// the other, without a second set of weights. ceil(inputs / rows) * ceil(outputs / columns) * (2
// rows + columns + vectors - 2) - 1.
int64_t scalesim_cycles(const TopologyLayer& layer, int64_t rows, int64_t columns);
// The "Overall util %": multiply-adds of all cells and cycles.
double scalesim_utilization(const TopologyLayer& layer, int64_t rows, int64_t columns);

}  // namespace systole::tpu_v1
