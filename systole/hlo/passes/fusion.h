// Fusion: instructions that can be computed element by element in one loop nest become one `fusion`
// instruction, so that what lies between them never goes to memory.
#pragma once

#include "systole/hlo/passes/pass.h"

namespace systole::hlo {

// What a backend's loops can do. The defaults fit a backend that computes any elementwise or
// indexed instruction from an index, and ends loops in reductions too.
struct FusionOptions {
  // The element at an index can be computed inside a loop, from elements of the operands.
  bool (*inside)(const Instruction&) = nullptr;
  // Can end a loop nest though it cannot be inside one. All that end one nest have operand 0's type
  // and attributes alike.
  bool (*at_end)(const Instruction&) = nullptr;
  // Computing an element twice costs little.
  bool (*cheap)(const Instruction&) = nullptr;
  // The region of this instruction is a program of its own, with loops in it.
  bool (*enter)(const Instruction&) = nullptr;
  // Of one fusion, by their code: 1 for an instruction, kTranscendentalCode for a transcendental
  // function, 0 for a cheap one, which always finds room. Compilers take more than twice as long
  // for twice as long a loop.
  int max_code = 96;
  static constexpr int kTranscendentalCode = 4;

  static FusionOptions defaults();
};

// A group grows from an instruction towards its producers. A producer joins
//  - when all its users are in the group, and no element is computed more often than it is used
//  once (unless it is cheap);
//  - as one more result of the fusion, when it has the shape the loop runs over and the loop uses
//  it at its own index.
// Cheap producers (broadcasts, iota, reshapes) are copied to each of their users first. Reductions
// over the same operand in the same way share a nest. Instructions whose regions use values around
// them stay alone. Program order is kept where it can be. Idempotent.
class FusionPass : public Pass {
 public:
  explicit FusionPass(FusionOptions options = FusionOptions::defaults()) : options_(options) {}
  std::string_view name() const override { return "fusion"; }
  bool run(Module& module) override;

 private:
  FusionOptions options_;
};

// Makes one fusion of the members, which stand together in the program, in order.
Instruction* fuse_instructions(Computation& computation, const std::vector<Instruction*>& members);

}  // namespace systole::hlo
