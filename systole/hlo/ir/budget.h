// How much larger passes may make a program. Without a limit forty functions that each call the
// next one twice would become 2^40 instructions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Counts the instructions and the bytes of constants that passes make of a program. The limits are
// linear in the program that was read: kOps + kOpsEach instructions for each of its own may exist
// at a time, kTurnover times as many may be made, and kConstantBytes + kConstantBytesEach for each
// instruction + the bytes of its own constants. An instruction of many operands counts as several:
// see Instruction::weight(). Not synchronised, as its module.
class Budget {
 public:
  static constexpr int64_t kOps = 30'000;
  static constexpr int64_t kOpsEach = 16;
  static constexpr int64_t kTurnover = 16;
  static constexpr int64_t kConstantBytes = int64_t{16} << 20;
  static constexpr int64_t kConstantBytesEach = 1024;

  explicit Budget(const Module& program);

  // Names the pass that runs from now on, for errors.
  void start_pass(std::string_view name) { pass_ = name; }

  // Counts an instruction of `where`. Errors: RESOURCE_EXHAUSTED beyond the limit.
  void add_op(const Computation& where, int64_t weight) {
    if (live_ + weight > limit_ || made_ + weight > kTurnover * limit_) refuse(where, weight);
    live_ += weight;
    made_ += weight;
  }
  void remove_op(int64_t weight) { live_ -= weight; }

  // Counts a constant that a pass would like to make, and returns whether it may.
  bool take_constant(int64_t bytes);

 private:
  [[noreturn]] void refuse(const Computation& where, int64_t weight) const;

  int64_t program_ops_;
  int64_t limit_;
  int64_t live_;
  int64_t made_ = 0;
  int64_t constant_bytes_;  // that are left
  std::string pass_ = "passes";
};

// Counts while it lives: gives the module a budget unless it has one, and names the pass.
class BudgetScope {
 public:
  BudgetScope(Module& module, std::string_view pass);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  Module* starts_ = nullptr;  // the module that had none
};

}  // namespace systole::hlo
