// The memory plan of a program: the location of every value, and the copies between regions.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "systole/backends/cpu/analysis/liveness.h"

namespace systole::cpu {

enum class Memory : uint8_t {
  argument,  // the caller's; written only if aliased with a result
  result,    // the caller's
  temp,      // one arena for the whole program
  constant,
  block,  // local to a function: a block of an array's elements
};

struct Slice {
  Memory memory = Memory::temp;
  int index = 0;       // number of the argument, result, constant or block
  int64_t offset = 0;  // in the arena, a multiple of 64
  int64_t bytes = 0;

  bool overlaps(const Slice& other) const;
  friend bool operator==(const Slice&, const Slice&) = default;
};

// A copy of whole slices.
struct Move {
  Slice from;
  Slice to;
};

struct BufferOptions {
  // Whether values with disjoint lifetimes may share memory. Tests turn it off.
  bool reuse = true;
  // Returns whether the thunk may write `result` over `operand`.
  std::function<bool(const hlo::Instruction&, int operand, int result)> in_place;
  // Returns the size of the thunk's scratch memory.
  std::function<int64_t(const hlo::Instruction&)> scratch_bytes;
};

// Immutable after construction. REQUIRES: the program's calls are inlined.
class BufferAssignment {
 public:
  BufferAssignment(const hlo::Module& module, const BufferOptions& options);

  const Slice& slice(hlo::Value value) const { return slices_.at(value); }
  // Returns the thunk's scratch memory, of 0 bytes if it needs none.
  Slice scratch(const hlo::Instruction& thunk) const;
  int64_t temp_bytes() const { return temp_bytes_; }
  // By Slice::index.
  const std::vector<Tensor>& constants() const { return constants_; }

  // Copies to make, in order: after the last instruction of main; before a loop; at the end of a
  // loop's body or of a branch.
  const std::vector<Move>& final_moves() const { return final_moves_; }
  const std::vector<Move>& moves_before(const hlo::Instruction& loop) const;
  const std::vector<Move>& moves_after(const hlo::Computation& region) const;

 private:
  friend class BufferPlanner;
  std::unordered_map<hlo::Value, Slice, hlo::ValueHash> slices_;
  std::unordered_map<const hlo::Instruction*, Slice> scratch_;
  std::unordered_map<const void*, std::vector<Move>> moves_;
  std::vector<Move> final_moves_;
  std::vector<Tensor> constants_;
  int64_t temp_bytes_ = 0;
};

// Orders the moves so that none overwrites memory that a later one reads. `staging` provides memory
// to break cycles. Drops moves from a slice to itself.
std::vector<Move> order_moves(std::vector<Move> moves,
                              const std::function<Slice(int64_t bytes)>& staging);

}  // namespace systole::cpu
