// The matrix unit cell by cell and cycle by cycle: slow, for tests and pictures. machine/product.h
// computes the same sums.
//
// Weights stay in the cells (weight stationary). Input k enters row k from the left, one cycle
// later for each row, and moves right a cell a cycle. Sums move down a cell a cycle and leave
// below. So vectors pass as diagonal waves. A second set of weights is shifted in from the top, a
// row a cycle, while the first multiplies; a cell takes its new weight together with the first
// input of the new wave.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace systole::tpu_v1 {

class SystolicArray {
 public:
  // Errors: INVALID_ARGUMENT for a size outside 1 to 512.
  explicit SystolicArray(int size);

  int size() const { return size_; }
  int64_t cycle() const { return cycle_; }

  // What enters in a cycle. Vectors and rows have `size` elements.
  struct Feed {
    std::optional<std::vector<int32_t>> vector;  // one of inputs
    bool next = false;  // the vector is the first that uses the weights shifted in last
    std::optional<std::vector<int32_t>> weights;  // a row of the next tile, its last row first
  };
  // Advances by a cycle.
  void step(const Feed& feed);

  // Returns results, in the order of their vectors, that have left the array since the last call.
  // Sums keep 32 bits.
  std::vector<std::vector<int32_t>> take_results();

  // The registers of a cell after the last call of step(). Pictures show them.
  struct Cell {
    int32_t weight = 0;
    int32_t shadow = 0;  // weight that is shifted in
    int32_t input = 0;
    int32_t sum = 0;
    int64_t vector = -1;  // number of the vector whose input is here; -1: none
    bool next = false;
  };
  const Cell& cell(int row, int column) const { return cells_[index(row, column)]; }

 private:
  struct Entry {
    std::vector<int32_t> values;
    bool valid = false;
    bool next = false;
    int64_t number = -1;
  };
  size_t index(int row, int column) const {
    return static_cast<size_t>(row) * static_cast<size_t>(size_) + static_cast<size_t>(column);
  }
  void shift_weights(const Feed& feed);
  void collect();

  int size_;
  int64_t cycle_ = 0;
  int64_t vectors_ = 0;
  std::vector<Cell> cells_;
  std::deque<Entry> entering_;  // the last `size` feeds, newest first
  struct Result {
    std::vector<int32_t> sums;
    int columns = 0;  // that have left
  };
  std::deque<Result> results_;
  int64_t first_result_ = 0;  // number of the vector of results_[0]
};

// A block of vectors that share a weight tile.
struct SystolicBlock {
  std::span<const int32_t> weights;  // [size, size]
  std::span<const int32_t> vectors;  // [rows, size]
};
struct SystolicRun {
  std::vector<int32_t> results;  // [all rows, size]
  int64_t cycles = 0;            // from the first weight to the last result
};
// Feeds blocks as fast as the array allows: the weights of a block are shifted in while the block
// before multiplies.
SystolicRun run_systolic(int size, std::span<const SystolicBlock> blocks);

}  // namespace systole::tpu_v1
