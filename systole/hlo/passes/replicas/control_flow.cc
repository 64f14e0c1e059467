// Loops and branches that all replicas take together. If the condition varies, the instruction is
// written once per replica.
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {

std::vector<bool> varying_results(const Vectorizer& v, Instruction& x) {
  std::vector<bool> flags;
  for (int i = 0; i < x.num_results(); ++i) flags.push_back(v.varying(x.result(i)));
  return flags;
}

std::vector<Value> operands_like(Vectorizer& v, Instruction& x, const std::vector<bool>& varying) {
  std::vector<Value> operands;
  for (size_t i = 0; i < varying.size(); ++i) {
    const Value operand = x.operands()[i];
    operands.push_back(varying[i] ? v.stacked(operand) : v.at(operand));
  }
  return operands;
}

}  // namespace

std::vector<Value> vectorize_while(Vectorizer& v, Instruction& x) {
  if (v.varying(x.region(0).results()[0])) return {};
  const std::vector<bool> carried = varying_results(v, x);
  const std::vector<Value> initial = operands_like(v, x, carried);
  const auto write = [&](const Computation& from, Computation& to,
                         const std::vector<bool>& varying) {
    for (int i = 0; i < from.num_parameters(); ++i) {
      const Value parameter = from.parameter(i);
      v.map_to(parameter, to.add_parameter(initial[i].type(), parameter.def->metadata()));
    }
    to.set_results(v.write_region(from, to, varying));
  };
  return results_of(
      *v.b().op_with_regions(Opcode::while_, initial, NoAttrs{}, [&](Instruction& now) {
        write(x.region(0), now.add_region(), {false});
        write(x.region(1), now.add_region(), carried);
      }));
}

std::vector<Value> vectorize_branches(Vectorizer& v, Instruction& x) {
  const std::vector<bool> varying = varying_results(v, x);
  return results_of(
      *v.b().op_with_regions(x.opcode(), {v.at(x.operand(0))}, x.attrs(), [&](Instruction& now) {
        for (const auto& from : x.regions()) {
          Computation& to = now.add_region();
          to.set_results(v.write_region(*from, to, varying));
        }
      }));
}

std::vector<Value> vectorize_optimization_barrier(Vectorizer& v, Instruction& x) {
  return results_of(*v.b().op(x.opcode(), operands_like(v, x, varying_results(v, x))));
}

}  // namespace systole::hlo::replicas
