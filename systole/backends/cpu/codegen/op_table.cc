#include "systole/backends/cpu/codegen/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "systole/backends/cpu/analysis/liveness.h"
#include "systole/backends/cpu/codegen/steps.h"
#include "systole/base/trace.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;

bool is_product(const Instruction& x) {
  return x.is(Opcode::dot_general) || x.is(Opcode::convolution);
}

// Calls `f` with the instruction, or those inside of a fusion.
template <class F>
void each_inside(const Instruction& x, const F& f) {
  if (!x.is(Opcode::fusion)) return f(x);
  for (const Instruction* inner : x.region().instructions()) each_inside(*inner, f);
}

template <class Is>
bool any_inside(const Instruction& x, const Is& is) {
  bool any = false;
  each_inside(x, [&](const Instruction& inner) { any = any || is(inner); });
  return any;
}

// XLA's names where it has such ops.
std::string category_of(const Instruction& x) {
  const bool reduces = any_inside(x, [](const Instruction& i) { return i.is(Opcode::reduce); });
  const bool multiplies = any_inside(x, is_product);
  // What is left of a collective op where replicas are an axis of one program: a reduction over it.
  const bool combines = any_inside(x, [](const Instruction& i) {
    return i.metadata().collective && (i.is(Opcode::reduce) || i.is(Opcode::map));
  });
  if (combines && !multiplies) return "all-reduce";
  if (x.is(Opcode::fusion)) {
    return multiplies ? "convolution fusion" : reduces ? "reduce fusion" : "loop fusion";
  }
  if (multiplies) return "convolution";
  const bool moves = semantics_of(x.opcode()).moves_elements && !x.traits().has(hlo::kBitcast);
  if (moves) return "data formatting";
  if (x.traits().has(hlo::kElementwise)) return "non-fusion elementwise";
  return std::string(to_string(x.opcode()));
}

double up_to(double size, double multiple) { return std::ceil(size / multiple) * multiple; }

// A matrix product, or a convolution as one: [rows, inner] x [inner, columns], `count` of them.
struct Product {
  double count = 1;
  double rows = 1;
  double inner = 1;
  double columns = 1;
};

double size_of(const Shape& shape, const Dims& axes) {
  double size = 1;
  for (const int64_t axis : axes) size *= static_cast<double>(shape[static_cast<int>(axis)]);
  return size;
}

Product product_of(const Instruction& x) {
  const Shape& left = x.operand(0).shape();
  const Shape& right = x.operand(1).shape();
  const auto elements = [](const Shape& shape) {
    return static_cast<double>(shape.num_elements());
  };
  if (x.is(Opcode::dot_general)) {
    const auto& dot = x.attrs<hlo::DotAttrs>();
    const double count = std::max(size_of(left, dot.lhs_batching_dimensions), 1.0);
    const double inner = std::max(size_of(left, dot.lhs_contracting_dimensions), 1.0);
    return {count, elements(left) / count / inner, inner, elements(right) / count / inner};
  }
  const auto& window = x.attrs<hlo::ConvolutionAttrs>();
  const double columns =
      static_cast<double>(right[static_cast<int>(window.kernel_output_feature_dimension)]);
  return {1, elements(x.shape()) / std::max(columns, 1.0), elements(right) / std::max(columns, 1.0),
          columns};
}

void add_products(const Instruction& x, tracing::Op& op) {
  each_inside(x, [&](const Instruction& inner) {
    if (!is_product(inner)) return;
    const Product p = product_of(inner);
    op.padded_flops += 2 * p.count * up_to(p.rows, 8) * up_to(p.inner, 128) * up_to(p.columns, 128);
    op.rows = std::max(op.rows, p.rows);
  });
}

const char* memory_kind(Memory memory) {
  switch (memory) {
    case Memory::argument:
      return "argument";
    case Memory::result:
      return "result";
    case Memory::constant:
      return "constant";
    case Memory::temp:
    case Memory::block:
      break;
  }
  return "temporary";
}

}  // namespace

bool is_step_loop(const Instruction& x) {
  return x.is(Opcode::while_) && x.metadata().name == hlo::kStepLoop;
}

tracing::Op op_of(const Instruction& x, size_t number, bool by_reference) {
  const bool around = has_programs(x);  // around other ops, which count their own
  tracing::Op op{.name = fmt::format("{}.{}", x.opcode(), number),
                 .opcode = std::string(to_string(x.opcode())),
                 .category = around ? std::string(to_string(x.opcode())) : category_of(x),
                 .expression = step_expression(x),
                 .scope = x.metadata().name,
                 .source = x.metadata().where.to_string(),
                 .flops = around ? 0 : step_flops(x),
                 .bytes = around ? 0 : step_bytes(x),
                 .by_reference = by_reference};
  for (const TensorType& type : x.results()) op.shapes.push_back(type.to_string());
  if (!around) add_products(x, op);
  return op;
}

std::vector<tracing::Allocation> allocations_of(const hlo::Module& module,
                                                const BufferAssignment& buffers) {
  const Liveness liveness(module.entry());
  std::vector<tracing::Allocation> result;
  int number = 0;
  for (const hlo::Value& value : liveness.values()) {
    const Instruction& x = *value.def;
    const Slice& slice = buffers.slice(value);
    const Lifetime& lifetime = liveness.lifetime(value);
    const bool is_view = x.traits().has(hlo::kBitcast) && x.num_operands() > 0 &&
                         buffers.slice(x.operand(0)) == slice;
    if (is_view || lifetime.empty() || slice.bytes == 0) continue;
    result.push_back({.name = fmt::format("{}.{}", x.opcode(), number++),
                      .kind = memory_kind(slice.memory),
                      .type = value.type(),
                      .scope = x.metadata().name,
                      .source = x.metadata().where.to_string(),
                      .bytes = slice.bytes,
                      .index = slice.index,
                      .offset = slice.offset,
                      .first = lifetime.front().begin,
                      .last = lifetime.back().end});
  }
  return result;
}

}  // namespace systole::cpu
