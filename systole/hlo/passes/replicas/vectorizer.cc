#include "systole/hlo/passes/replicas/vectorizer.h"

#include <numeric>

#include "systole/base/error.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/semantics/op_semantics.h"

namespace systole::hlo::replicas {
namespace {

// Elementwise opcodes: each element of the result depends on the same elements of the operands.
std::vector<Value> elementwise(Vectorizer& v, Instruction& x) {
  const TensorType type = v.stacked_type(x.type());
  std::vector<Value> operands;
  for (const Value& operand : x.operands()) {
    const bool splats = operand.shape().rank() == 0 && x.shape().rank() > 0;
    if (!splats) {
      operands.push_back(v.stacked(operand));
    } else if (!v.varying(operand)) {
      operands.push_back(v.at(operand));
    } else {
      operands.push_back(v.b().broadcast_in_dim(v.at(operand), type.shape, {0}));
    }
  }
  return {v.b().op(x.opcode(), operands, x.attrs(), {type})->result()};
}

VectorizeRule rule_of(const Instruction& x) {
  const VectorizeRule rule = semantics_of(x.opcode()).vectorize;
  return rule == nullptr && x.traits().has(kElementwise) ? elementwise : rule;
}

// Replaces replica_id and partition_id in an instruction written for one replica.
void tell_replica(Instruction& instruction, int64_t replica) {
  const auto number_of = [&](const Instruction& x) -> std::optional<int64_t> {
    if (x.is(Opcode::replica_id)) return replica;
    if (x.is(Opcode::partition_id)) return 0;
    return std::nullopt;
  };
  for (const auto& region : instruction.regions()) {
    for (Instruction* nested : region->instructions()) {
      tell_replica(*nested, replica);
      const std::optional<int64_t> number = number_of(*nested);
      if (number) {
        Builder b(*region, nested);
        const Value value = b.scalar(DType::u32, static_cast<double>(*number));
        replace_and_erase(*nested, {&value, 1});
      } else if (nested->traits().has(kSideEffect)) {
        throw invalid_argument(
            "{}: its condition, got one that differs between replicas around '{}', expected one "
            "value for all of them, {}",
            instruction.opcode(), nested->opcode(), instruction.describe());
      }
    }
  }
}

bool is_token(const TensorType& type) { return type.dtype == DType::token; }

}  // namespace

Dims shifted(const Dims& axes, int64_t by) {
  Dims result = axes;
  for (int64_t& axis : result) axis += by;
  return result;
}

Dims with_front(const Dims& dims, int64_t front) {
  Dims result = dims;
  result.insert(result.begin(), front);
  return result;
}

TensorType Vectorizer::stacked_type(const TensorType& type) const {
  return {type.dtype, Shape(with_front(type.shape.dims(), num_replicas()))};
}

Value Vectorizer::stacked(Value old) {
  const Value value = at(old);
  if (varying(old)) return value;
  Dims axes(static_cast<size_t>(value.shape().rank()));
  std::iota(axes.begin(), axes.end(), 1);
  return b().broadcast_in_dim(value, stacked_type(value.type()).shape, axes);
}

std::vector<Value> Vectorizer::stacked(std::span<const Value> old) {
  std::vector<Value> result;
  for (const Value& value : old) result.push_back(stacked(value));
  return result;
}

Value Vectorizer::lane(Value stacked, int64_t replica) {
  const Shape& shape = stacked.shape();
  Dims start(static_cast<size_t>(shape.rank()), 0);
  Dims limit = shape.dims();
  start[0] = replica;
  limit[0] = replica + 1;
  const Value row = b().slice(stacked, start, limit);
  return b().reshape(row, Shape(Dims(shape.begin() + 1, shape.end())));
}

Value Vectorizer::stack(std::span<const Value> lanes) {
  std::vector<Value> rows;
  for (const Value& lane : lanes) {
    rows.push_back(b().reshape(lane, Shape(with_front(lane.shape().dims(), 1))));
  }
  return b().concatenate(rows, 0);
}

Value Vectorizer::merge_lanes(Value stacked, int64_t axis) {
  Dims order;
  for (int64_t i = 1; i <= axis; ++i) order.push_back(i);
  order.push_back(0);
  for (int64_t i = axis + 1; i < stacked.shape().rank(); ++i) order.push_back(i);
  Dims dims(stacked.shape().begin() + 1, stacked.shape().end());
  dims[axis] *= num_replicas();
  const Value moved = axis == 0 ? stacked : b().transpose(stacked, order);
  return b().reshape(moved, Shape(dims));
}

Value Vectorizer::split_lanes(Value merged, int64_t axis) {
  Dims dims = merged.shape().dims();
  dims[axis] /= num_replicas();
  dims.insert(dims.begin() + axis, num_replicas());
  return lanes_to_front(b().reshape(merged, Shape(dims)), axis);
}

Value Vectorizer::lanes_to_front(Value value, int64_t axis) {
  if (axis == 0) return value;
  Dims order{axis};
  for (int64_t i = 0; i < value.shape().rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  return b().transpose(value, order);
}

std::vector<Value> Vectorizer::write_lane_by_lane(Instruction& x) {
  std::vector<std::vector<Value>> lanes(static_cast<size_t>(x.num_results()));
  std::vector<Value> inputs(x.operands().begin(), x.operands().end());
  const std::vector<Value> captured = captures(x);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const bool has_token =
      std::ranges::any_of(x.results(), is_token) ||
      std::ranges::any_of(x.operands(), [](Value v) { return is_token(v.type()); });
  if (has_token && x.traits().has(kContextual)) {
    throw unimplemented("{}: on replicas that one program computes, got a token, expected none",
                        x.opcode());
  }
  for (int64_t replica = 0; replica < num_replicas(); ++replica) {
    ValueMap map;
    for (const Value& input : inputs) {
      map[input] = varying(input) ? lane(at(input), replica) : at(input);
    }
    Instruction* const copy = copy_instruction(x, map, b().computation(), nullptr);
    tell_replica(*copy, first_replica() + replica);
    for (int i = 0; i < x.num_results(); ++i) {
      lanes[i].push_back(copy->result(i));
    }
  }
  std::vector<Value> results;
  for (int i = 0; i < x.num_results(); ++i) {
    results.push_back(varying(x.result(i))           ? stack(lanes[i])
                      : is_token(x.result(i).type()) ? b().op(Opcode::after_all, lanes[i])->result()
                                                     : lanes[i][0]);
  }
  return results;
}

// Branches that replicas take apart, also those that give nothing. Sums and products of several
// replicas at once may be added up in another order than those of another number of replicas, which
// other processes may have.
bool Vectorizer::must_be_lane_by_lane(const Instruction& x) const {
  if ((x.is(Opcode::if_) || x.is(Opcode::case_)) && varying(x.operand(0))) return true;
  return processes_ &&
         (x.is(Opcode::dot_general) || x.is(Opcode::convolution) || x.is(Opcode::reduce));
}

Value Vectorizer::gathered(Value old) {
  const Value own = map_.at(old);
  if (own.shape()[0] == num_lanes_) return own;  // this process has all replicas
  const CustomCallAttrs call{.call_target_name = kGatherReplicas, .has_side_effect = true};
  return b().op(Opcode::custom_call, {own}, call, {stacked_type(old.type())})->result();
}

std::vector<Value> Vectorizer::write_over_processes(Instruction& x, VectorizeRule rule) {
  const int64_t own = num_lanes_;
  const int64_t first = first_replica();
  num_lanes_ = variance_.num_replicas();
  lanes_of_all_ = true;
  std::vector<Value> results = rule(*this, x);
  for (size_t i = 0; i < results.size() && own < num_lanes_; ++i) {
    if (!varying(x.result(static_cast<int>(i)))) continue;
    const Shape& shape = results[i].shape();
    Dims start(static_cast<size_t>(shape.rank()), 0);
    Dims limit = shape.dims();
    start[0] = first;
    limit[0] = first + own;
    results[i] = b().slice(results[i], start, limit);
  }
  num_lanes_ = own;
  lanes_of_all_ = false;
  return results;
}

void Vectorizer::write(Instruction& x) {
  Metadata metadata = x.metadata();
  metadata.collective |= meets_others(x) && x.num_operands() > 0;
  b().set_metadata(std::move(metadata));
  if (variance_.is_uniform(x)) {
    copy_instruction(x, map_, b().computation(), nullptr);
    return;
  }
  const VectorizeRule rule = must_be_lane_by_lane(x) ? nullptr : rule_of(x);
  std::vector<Value> results;
  if (rule != nullptr) {
    results = meets_others(x) ? write_over_processes(x, rule) : rule(*this, x);
  }
  if (results.empty() && (rule == nullptr || x.num_results() > 0)) {
    // With one replica there are no lanes: copies the instruction with the new operands.
    if (variance_.num_replicas() == 1) {
      copy_instruction(x, map_, b().computation(), nullptr);
      return;
    }
    results = write_lane_by_lane(x);
  }
  for (int i = 0; i < x.num_results(); ++i) {
    const Value result = results[i];
    const TensorType& old = x.results()[i];
    const TensorType wanted = varying(x.result(i)) ? stacked_type(old) : old;
    if (result.type() != wanted) {
      throw internal_error("vectorize_replicas: type of '{}', got {}, expected {}", x.opcode(),
                           result.type(), wanted);
    }
    map_[x.result(i)] = result;
  }
}

std::vector<Value> Vectorizer::write_region(const Computation& from, Computation& to,
                                            const std::vector<bool>& varying) {
  const std::optional<Builder> outer = builder_;
  builder_.emplace(to);
  if (in_turn_) {
    write_in_turn(from);
  } else {
    for (Instruction* x : from.instructions()) {
      if (!x->is(Opcode::parameter) && x != from.terminator()) write(*x);
    }
  }
  std::vector<Value> results;
  for (size_t i = 0; i < varying.size(); ++i) {
    results.push_back(varying[i] ? stacked(from.results()[i]) : at(from.results()[i]));
  }
  builder_ = outer;
  return results;
}

void Vectorizer::write_main(const Computation& from, Computation& to,
                            const std::vector<bool>& varying) {
  for (int i = 0; i < from.num_parameters(); ++i) {
    const Value old = from.parameter(i);
    const bool stacks = varying[i];
    map_[old] =
        to.add_parameter(stacks ? stacked_type(old.type()) : old.type(), old.def->metadata());
  }
  std::vector<bool> results;
  for (const Value& value : from.results()) results.push_back(variance_.varying(value));
  to.set_results(write_region(from, to, results));
}

bool meets_others(const Instruction& x) {
  const AcrossReplicas replicas = across_replicas(x.opcode());
  return replicas != AcrossReplicas::by_operands && replicas != AcrossReplicas::apart;
}

std::vector<Value> results_of(Instruction& instruction) {
  std::vector<Value> results;
  for (int i = 0; i < instruction.num_results(); ++i) results.push_back(instruction.result(i));
  return results;
}

}  // namespace systole::hlo::replicas
