#include "systole/backends/cpu/passes/rewrite_each.h"

#include "systole/backends/cpu/analysis/liveness.h"

namespace systole::cpu {
namespace {

bool rewrite_program(hlo::Computation& program,
                     const std::function<bool(hlo::Computation&)>& rewrite) {
  bool changed = false;
  for (const hlo::Instruction* x : program.instructions()) {
    for (int r = 0; has_programs(*x) && r < x->num_regions(); ++r)
      changed = rewrite_program(x->region(r), rewrite) || changed;
  }
  return rewrite(program) || changed;
}

}  // namespace

bool rewrite_programs(hlo::Module& module, const std::function<bool(hlo::Computation&)>& rewrite) {
  bool changed = false;
  for (const auto& function : module.functions())
    changed = rewrite_program(*function, rewrite) || changed;
  return changed;
}

bool rewrite_each(hlo::Module& module, const std::function<bool(hlo::Instruction&)>& rewrite) {
  return rewrite_programs(module, [&](hlo::Computation& program) {
    bool changed = false;
    for (hlo::Instruction* x : program.instructions()) changed = rewrite(*x) || changed;
    return changed;
  });
}

}  // namespace systole::cpu
