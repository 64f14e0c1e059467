#include "systole/hlo/passes/algebraic_simplifier.h"

#include "systole/hlo/passes/algebraic_simplifier/rules.h"

namespace systole::hlo {

const RuleIndex& all_rules() {
  static const RuleIndex kIndex = [] {
    RuleIndex index;
    for (const auto rules :
         {canonical_rules(), identity_rules(), arithmetic_rules(), logic_rules(), convert_rules(),
          broadcast_rules(), reshape_rules(), transpose_rules(), slice_rules(),
          dynamic_slice_rules(), concatenate_rules(), reduce_rules(), dot_rules(),
          convolution_rules(), control_flow_rules()}) {
      index.add(rules);
    }
    return index;
  }();
  return kIndex;
}

bool AlgebraicSimplifier::run(Module& module) {
  return !apply_rules(module, all_rules()).fired.empty();
}

}  // namespace systole::hlo
