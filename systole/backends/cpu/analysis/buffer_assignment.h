// The memory plan of a program: where every value lies, and what has to be copied at the joints.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "systole/backends/cpu/analysis/liveness.h"

namespace systole::cpu {

enum class Memory : uint8_t {
  argument,  // of the caller; written only where the program aliases it with a result
  result,    // of the caller
  temp,      // one arena for the whole program
  constant,
  block,  // of the function that runs: a block of an array's elements at a time
};

struct Slice {
  Memory memory = Memory::temp;
  int index = 0;       // which argument, result, constant or block
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
  // Values share memory; without it each has its own (for tests).
  bool reuse = true;
  // The step may write result `result` over operand `operand`.
  std::function<bool(const hlo::Instruction&, int operand, int result)> in_place;
  // Memory that the step needs while it runs.
  std::function<int64_t(const hlo::Instruction&)> scratch_bytes;
};

// Made once for a program whose calls are inlined; then read only.
class BufferAssignment {
 public:
  BufferAssignment(const hlo::Module& module, const BufferOptions& options);

  const Slice& slice(hlo::Value value) const { return slices_.at(value); }
  // The step's scratch memory; 0 bytes when it asked for none.
  Slice scratch(const hlo::Instruction& step) const;
  int64_t temp_bytes() const { return temp_bytes_; }
  // By Slice::index.
  const std::vector<Tensor>& constants() const { return constants_; }

  // To be made in this order: after the last instruction of main; before a loop; at the end of a
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

// The moves in an order in which none overwrites what a later one reads; `staging` gives memory to
// break a cycle. Moves from a slice to itself are dropped.
std::vector<Move> order_moves(std::vector<Move> moves,
                              const std::function<Slice(int64_t bytes)>& staging);

}  // namespace systole::cpu
