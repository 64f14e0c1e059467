#include "systole/hlo/testing/sketch.h"

#include <fmt/ranges.h>

#include "systole/hlo/ir/builder.h"

namespace systole::hlo::testing {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string join(const Dims& dims) { return fmt::format("{}", fmt::join(dims, ",")); }

std::string sketch_slice(const SliceAttrs& attrs) {
  std::string text;
  for (size_t d = 0; d < attrs.start_indices.size(); ++d) {
    text +=
        fmt::format("{}{}:{}", d == 0 ? "" : ",", attrs.start_indices[d], attrs.limit_indices[d]);
    if (attrs.strides[d] != 1) text += fmt::format(":{}", attrs.strides[d]);
  }
  return text;
}

constexpr std::string_view kDirections[] = {"eq", "ne", "ge", "gt", "le", "lt"};

// The part in braces after the opcode; "" if there is nothing to tell.
std::string sketch_attrs(const Attrs& attrs) {
  return std::visit(
      Overloaded{[](const IotaAttrs& a) { return fmt::format("{}", a.iota_dimension); },
                 [](const CompareAttrs& a) {
                   return std::string(kDirections[static_cast<size_t>(a.direction)]);
                 },
                 [](const BroadcastInDimAttrs& a) { return join(a.broadcast_dimensions); },
                 [](const TransposeAttrs& a) { return join(a.permutation); },
                 [](const DimensionsAttrs& a) { return join(a.dimensions); },
                 [](const ConcatenateAttrs& a) { return fmt::format("{}", a.dimension); },
                 [](const SliceAttrs& a) { return sketch_slice(a); },
                 [](const DynamicSliceAttrs& a) { return join(a.slice_sizes); },
                 [](const CallAttrs& a) { return a.callee; },
                 [](const DotAttrs& a) {
                   return fmt::format("{};{} x {};{}", join(a.lhs_batching_dimensions),
                                      join(a.lhs_contracting_dimensions),
                                      join(a.rhs_batching_dimensions),
                                      join(a.rhs_contracting_dimensions));
                 },
                 [](const auto&) { return std::string(); }},
      attrs);
}

std::string sketch_constant(const Tensor& value) {
  std::string text;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    text += fmt::format("{}{:g}", i == 0 ? "" : ",", value.as_double(i));
  }
  return value.rank() == 0 ? text : "{" + text + "}";
}

class Sketcher {
 public:
  std::string results(const Computation& computation) {
    std::string text;
    for (const Value& value : computation.results()) {
      text += (text.empty() ? "" : "; ") + sketch_value(value);
    }
    return text;
  }

 private:
  std::string sketch_value(Value value) {
    const Instruction& op = *value.def;
    if (op.is(Opcode::constant)) return sketch_constant(op.attrs<ConstantAttrs>().value);
    if (op.is(Opcode::parameter)) {
      const char* prefix = op.parent().owner() == nullptr ? "p" : "a";
      return fmt::format("{}{}", prefix, op.attrs<ParameterAttrs>().index);
    }
    std::string text(op.traits().name);
    text += sketch_type(op);
    if (const std::string attrs = sketch_attrs(op.attrs()); !attrs.empty())
      text += "{" + attrs + "}";
    std::string operands;
    for (const Value& operand : op.operands()) {
      operands += (operands.empty() ? "" : ", ") + sketch_value(operand);
    }
    text += "(" + operands + ")";
    for (const auto& region : op.regions()) text += sketch_region(*region);
    if (op.num_results() > 1) text += fmt::format(".{}", value.index);
    return text;
  }

  // If it does not follow from the operands.
  static std::string sketch_type(const Instruction& op) {
    if (op.is(Opcode::convert)) return fmt::format(":{}", op.dtype());
    const bool shaped = op.is(Opcode::reshape) || op.is(Opcode::broadcast_in_dim);
    if (shaped) return op.shape().to_string();
    return op.num_operands() == 0 && op.num_results() == 1 ? ":" + op.type().to_string() : "";
  }

  std::string sketch_region(const Computation& region) {
    if (const auto reducer = match_reducer(region)) return fmt::format("[{}]", *reducer);
    return "[" + results(region) + "]";
  }
};

}  // namespace

std::string sketch(const Computation& computation) { return Sketcher().results(computation); }

}  // namespace systole::hlo::testing
