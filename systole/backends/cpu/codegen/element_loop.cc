#include <algorithm>

#include "systole/backends/cpu/codegen/loop_nest.h"
#include "systole/backends/cpu/codegen/steps.h"

namespace systole::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

void emit_loop_over(FunctionEmitter& f, const ElementLoop& loop) {
  const int64_t elements = loop.shape.num_elements();
  if (elements == 0) return;
  ElementAccess access(loop.step);
  const std::vector<Var> variables = add_variables(access, loop.shape.dims());
  loop.visit(access, make_index(loop.shape, coordinates(variables)));
  const std::vector<Loop> loops = merge_loops(access, variables, access.needed());
  const double work = !loop.parallel
                          ? 0
                          : 0.1 * static_cast<double>(elements) *
                                (access.cost() + static_cast<double>(access.reads().size()) + 1);
  emit_parallel(f, loops.empty() ? 1 : loops.front().size, work,
                [&](FunctionEmitter& g, llvm::Value* begin, llvm::Value* end) {
                  Elements e(g, loop.step);
                  for (const Var var : add_variables(e, loop.shape.dims())) e.bind(var, nullptr);
                  g.begin_step(loop.written);
                  emit_loops(e, loops, begin, end, true, [&] {
                    loop.store(e, make_index(loop.shape, coordinates(variables)));
                  });
                });
}

void emit_element_loop(FunctionEmitter& f, const Instruction& x) {
  const Step step(x);
  const std::vector<Value> roots = step.roots();
  const std::vector<Slice> results = result_slices(f, x);
  const Shape shape = roots[0].shape();
  // Roots of one number of elements run together, whatever their shapes.
  const auto at_root = [&](const Value& root, const IndexRef& index) {
    return root.shape() == shape ? index
                                 : std::make_shared<const Index>(root.shape(), index->offset());
  };
  emit_loop_over(f, {.step = step,
                     .shape = shape,
                     .written = results,
                     .visit =
                         [&](ElementAccess& access, const IndexRef& index) {
                           access.need(index->offset());
                           for (const Value& root : roots) access.visit(root, at_root(root, index));
                         },
                     .store =
                         [&](Elements& e, const IndexRef& index) {
                           // All reads come before the writes, which may go to the same memory.
                           std::vector<llvm::Value*> values;
                           for (const Value& root : roots)
                             values.push_back(e.element(root, at_root(root, index)));
                           llvm::Value* offset = e.number(index->offset());
                           for (size_t k = 0; k < roots.size(); ++k) {
                             e.f.store(results[k], roots[k].dtype(), offset, values[k]);
                           }
                         }});
}

void emit_fusion(FunctionEmitter& f, const Instruction& x) {
  const auto results = x.region().results();
  const bool reduces =
      std::ranges::any_of(results, [](const Value& v) { return v.def->is(Opcode::reduce); });
  reduces ? emit_reduce(f, x) : emit_element_loop(f, x);
}

}  // namespace systole::cpu
