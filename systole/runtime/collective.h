// Collective operations among processes that train together.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "systole/base/tensor.h"

namespace systole::runtime {

enum class Reduction : uint8_t { sum, min, max };

// A group of processes, or of threads, with ranks from 0. Every rank calls the same operations in
// the same order, with tensors of the same type; a call returns when the rank's part is done.
// Results are the same on all ranks, to the bit, and do not depend on timing. One thread of a rank
// calls at a time.
//
// Errors, on every rank that takes part: INVALID_ARGUMENT for types, roots or operations that
// differ between ranks; DEADLINE_EXCEEDED for a rank that does not come; ABORTED for a rank that
// has left. The group cannot be used after an error.
class Collective {
 public:
  virtual ~Collective() = default;  // the rank leaves the group
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Replaces each element by that of all ranks together. Elements are added in pairs: ranks 0 and
  // 1, 2 and 3, ..., then these sums in pairs again; the last of an odd number waits. 2^k
  // neighbouring ranks can therefore be added first, and the sum stays the same to the bit. 16-bit
  // floats are added in f32 and rounded once. Errors: INVALID_ARGUMENT for pred and strings, and
  // for the least or largest of complex numbers.
  virtual void all_reduce(Tensor& value, Reduction reduction) = 0;
  // The values of all ranks along a new first axis, in the order of the ranks.
  virtual Tensor all_gather(const Tensor& value) = 0;
  // Replaces the elements by those of rank `root`.
  virtual void broadcast(Tensor& value, int root) = 0;
  // Returns when every rank has called it.
  virtual void barrier() = 0;
};

// A group of `size` ranks in this process: one for each of as many threads. A rank waits for the
// others no longer than `timeout`.
std::vector<std::unique_ptr<Collective>> make_in_memory_collectives(
    int size, std::chrono::milliseconds timeout = std::chrono::minutes(1));

// For implementations: combines `values`, `count` elements of each rank in rank order, as
// all_reduce() does. `into` may be the memory of one of them. Errors: those of all_reduce() for the
// dtype.
void reduce_in_pairs(DType dtype, std::span<const void* const> values, int64_t count,
                     Reduction reduction, void* into);

}  // namespace systole::runtime
