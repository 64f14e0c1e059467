// Fusion: instructions that one loop nest can compute element by element become one `fusion`
// instruction, so that intermediate values are not stored in memory.
#pragma once

#include <functional>

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// The capabilities of a backend's loops. The defaults fit a backend that computes any elementwise
// or indexed instruction from an index and ends loops in reductions.
struct FusionOptions {
  // Whether a loop can compute the element at an index from elements of the operands.
  std::function<bool(const Instruction&)> inside;
  // Whether the instruction can end a loop nest although it cannot be inside one. All instructions
  // that end a nest have the same type of operand 0 and the same attributes. The nest runs over
  // operand 0: reductions, and concatenations of equal shapes.
  std::function<bool(const Instruction&)> at_end;
  // Whether computing an element twice is cheap.
  bool (*cheap)(const Instruction&) = nullptr;
  // Whether the instruction's region is a program of its own, with loops in it.
  bool (*enter)(const Instruction&) = nullptr;
  // The maximum amount of code in one fusion: 1 per instruction, kTranscendentalCode per
  // transcendental function, 0 per cheap instruction. Compile time grows faster than linearly with
  // the length of a loop.
  int max_code = 96;
  static constexpr int kTranscendentalCode = 4;

  static FusionOptions defaults();
};

// Code of one loop that works on more arrays takes long to compile.
inline constexpr int kMaxJoined = 64;
// Returns whether it is a concatenation of at most kMaxJoined operands of one shape, which one loop
// nest can fill.
bool joins_equal_shapes(const Instruction& instruction);

// A group grows from an instruction towards its producers. A producer joins
//   - if all its users are in the group and each element is computed at most once per use (cheap
//   producers may be computed more often);
//   - as an additional result of the fusion, if it has the shape of the loop and the loop uses it
//   at its own index.
// A whole group joins that of a producer if it has as many elements and reads the results of the
// producer at its own index.
// Cheap producers (broadcasts, iota, reshapes) are first copied to each of their users. Reductions
// over the same axes of the same operand share a nest. Instructions whose regions capture values
// stay alone. Keeps program order where possible. Idempotent.
class FusionPass : public Pass {
 public:
  explicit FusionPass(FusionOptions options = FusionOptions::defaults()) : options_(options) {}
  std::string_view name() const override { return "fusion"; }
  bool run(Module& module) override;

 private:
  FusionOptions options_;
};

// Replaces the members, which are adjacent in the program, by one fusion. Keeps their order.
Instruction* fuse_instructions(Computation& computation, const std::vector<Instruction*>& members);

}  // namespace systole::hlo
