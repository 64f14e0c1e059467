// What TPUEstimator::check() finds: what a TPU would refuse of a model, or do otherwise, and what a
// step needs of a core's memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "systole/base/dtype.h"
#include "systole/base/shape.h"

namespace systole {

struct Violation {
  std::string what;   // "dtype f64 of node 'dense/MatMul' at model.cc:12 is not supported on a TPU"
  std::string fix;    // "cast it to f32"
  bool note = false;  // works, but otherwise than the program may expect
};

// One array in a core's memory.
struct TensorMemory {
  std::string what;  // "node 'conv2d/Conv2D' at model.cc:12"
  TensorType type;
  int64_t bytes = 0;
  // What a TPU sets aside: it keeps arrays in tiles of 8 x 128 words of 32 bits, laid over the two
  // dimensions for which it costs least.
  int64_t padded_bytes = 0;
};

// Of one core during one step; bytes are padded ones. An estimate from the graph: what is computed
// element by element and used once takes no memory, as where operations are fused; all else lives
// from the operation that makes it to the last that uses it.
struct MemoryReport {
  int64_t limit = 0;                  // of the core
  int64_t variables = 0;              // with the optimizer's slots
  int64_t inputs = 0;                 // one batch
  int64_t step = 0;                   // the most that is alive of what a step computes
  bool complete = true;               // false: some shapes are not known, and not counted
  std::vector<TensorMemory> largest;  // of all three kinds, the largest first

  int64_t total() const { return variables + inputs + step; }
  // A table.
  std::string to_string() const;
};

struct CheckReport {
  std::vector<Violation> violations;  // in the order of the graph, notes among them
  MemoryReport memory;

  // Nothing that a TPU would refuse.
  bool ok() const;
  // For people: each violation with its fix, then the memory.
  std::string to_string() const;
};

// What a TPU sets aside for an array: see TensorMemory. REQUIRES: a static shape.
int64_t padded_bytes(const TensorType& type);

}  // namespace systole
