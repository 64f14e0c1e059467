#include "systole/hlo/ir/budget.h"

#include "systole/base/error.h"

namespace systole::hlo {
namespace {

struct Size {
  int64_t ops = 0;
  int64_t constant_bytes = 0;
};

void add_size(const Computation& computation, Size& size) {
  for (const Instruction* instruction : computation.instructions()) {
    size.ops += instruction->weight();
    if (const auto* constant = std::get_if<ConstantAttrs>(&instruction->attrs())) {
      size.constant_bytes += constant->value.byte_size();
    }
    for (const auto& region : instruction->regions()) add_size(*region, size);
  }
}

const Computation& function_of(const Computation& computation) {
  const Computation* at = &computation;
  while (at->owner() != nullptr) at = &at->owner()->parent();
  return *at;
}

}  // namespace

Budget::Budget(const Module& program) {
  Size size;
  for (const auto& function : program.functions()) add_size(*function, size);
  program_ops_ = live_ = size.ops;
  limit_ = kOps + kOpsEach * size.ops;
  constant_bytes_ = kConstantBytes + kConstantBytesEach * size.ops + size.constant_bytes;
}

bool Budget::take_constant(int64_t bytes) {
  if (bytes > constant_bytes_) return false;
  constant_bytes_ -= bytes;
  return true;
}

void Budget::refuse(const Computation& where, int64_t weight) const {
  const bool at_a_time = live_ + weight > limit_;
  throw make_error(Code::resource_exhausted,
                   "{}: ops {}, got {}, expected at most {} of a program that had {}, in function "
                   "'{}'",
                   pass_, at_a_time ? "at a time" : "made by all passes",
                   (at_a_time ? live_ : made_) + weight, at_a_time ? limit_ : kTurnover * limit_,
                   program_ops_, function_of(where).name());
}

BudgetScope::BudgetScope(Module& module, std::string_view pass) {
  if (module.budget == nullptr) {
    module.budget = std::make_shared<Budget>(module);
    starts_ = &module;
  }
  module.budget->start_pass(pass);
}

BudgetScope::~BudgetScope() {
  if (starts_ != nullptr) starts_->budget = nullptr;
}

}  // namespace systole::hlo
