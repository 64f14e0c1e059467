// Replicas one after another. Instructions between those that meet other replicas are written once,
// in a loop over the lanes, whose intermediate values then share memory. What is used after the
// loop is stacked; a value that is only summed over the replicas is summed in the loop.
#include "systole/hlo/passes/replicas/in_turn.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/passes/replicas/rules.h"
#include "systole/hlo/passes/replicas/vectorizer.h"

namespace systole::hlo::replicas {
namespace {

using Instructions = std::vector<Instruction*>;
using ValueSet = std::unordered_set<Value, ValueHash>;

// Instructions that depend on the same number of meetings of the replicas, in the order in which
// they are written.
struct Stage {
  Instructions uniform;   // equal on all replicas
  Instructions lanes;     // written for one replica
  Instructions together;  // meet other replicas, or must stay as they are
};

bool has_token(const Instruction& x) {
  const auto is_token = [](const TensorType& type) { return type.dtype == DType::token; };
  return std::ranges::any_of(x.results(), is_token) ||
         std::ranges::any_of(x.operands(), [&](Value v) { return is_token(v.type()); });
}

std::vector<Value> inputs_of(const Instruction& x) {
  std::vector<Value> inputs(x.operands().begin(), x.operands().end());
  const std::vector<Value> captured = captures(x);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  return inputs;
}

std::vector<Stage> stages_of(const Computation& from, const Variance& variance) {
  std::vector<Stage> stages;
  std::unordered_map<Value, size_t, ValueHash> stage_of;  // the first that can use the value
  for (Instruction* x : from.instructions()) {
    if (x->is(Opcode::parameter) || x == from.terminator()) continue;
    size_t at = 0;
    for (const Value& input : inputs_of(*x)) {
      const auto known = stage_of.find(input);
      if (known != stage_of.end()) at = std::max(at, known->second);
    }
    stages.resize(std::max(stages.size(), at + 1));
    const bool uniform = variance.is_uniform(*x) || x->is(Opcode::partition_id);
    const bool alone = x->is(Opcode::replica_id) || (!is_contextual(*x) && !has_token(*x));
    Instructions& place = uniform ? stages[at].uniform
                          : alone ? stages[at].lanes
                                  : stages[at].together;
    place.push_back(x);
    for (int i = 0; i < x->num_results(); ++i) {
      const Value result = x->result(i);
      // What is equal on all replicas is written before the lanes of its stage.
      const bool later = !uniform && (!alone || !variance.varying(result));
      stage_of[result] = later ? at + 1 : at;
    }
  }
  return stages;
}

// Returns the instruction of `from` that has `x` in a region, at any depth; `x` itself if `from`
// has it. REQUIRES: one of the two.
const Instruction& holder_in(const Computation& from, const Instruction& x) {
  const Instruction* holder = &x;
  while (&holder->parent() != &from) holder = holder->parent().owner();
  return *holder;
}

std::vector<Value> starts_at(Builder& b, Value i, int rank) {
  std::vector<Value> starts(static_cast<size_t>(rank), b.scalar(DType::s32, 0));
  starts[0] = i;
  return starts;
}

Value row(Builder& b, Value stack, Value i) {
  Dims sizes = stack.shape().dims();
  sizes[0] = 1;
  const Value read = b.dynamic_slice(stack, starts_at(b, i, stack.shape().rank()), sizes);
  return b.reshape(read, Shape(Dims(sizes.begin() + 1, sizes.end())));
}

Value with_row(Builder& b, Value stack, Value value, Value i) {
  const Value update = b.reshape(value, Shape(with_front(value.shape().dims(), 1)));
  return b.dynamic_update_slice(stack, update, starts_at(b, i, stack.shape().rank()));
}

// Sums of floats of 16 bits are added up in f32.
DType dtype_of_sum(DType dtype) {
  return is_floating(dtype) && size_of(dtype) < 4 ? DType::f32 : dtype;
}

// Writes the loop of one stage.
class TurnWriter {
 public:
  TurnWriter(Vectorizer& v, const Instructions& lanes)
      : v_(v), from_(lanes[0]->parent()), lanes_(lanes), inside_(lanes.begin(), lanes.end()) {
    find_inputs();
    for (Instruction* x : lanes_) {
      for (int i = 0; i < x->num_results(); ++i) find_use(x->result(i));
    }
  }

  void write() {
    Builder& b = v_.b();
    b.set_metadata({.name = std::string(kLoopOfReplicas), .where = {}});
    std::vector<Value> initial{b.scalar(DType::s32, 0)};
    for (const Output& output : outputs_) initial.push_back(b.splat(output.type, 0));
    Instruction* const loop =
        b.op_with_regions(Opcode::while_, initial, NoAttrs{}, [&](Instruction& op) {
          write_condition(op.add_region(), initial);
          write_body(op.add_region(), initial);
        });
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const Value result = loop->result(static_cast<int>(k) + 1);
      const Output& output = outputs_[k];
      if (output.as == As::sum) {
        v_.note_sum(output.old, b.convert(result, output.old.dtype()));
      } else {
        v_.map_to(output.old, result);
      }
    }
  }

 private:
  enum class As : uint8_t { stack, sum, value };
  struct Output {
    Value old;
    As as;
    TensorType type;  // of what the loop carries
  };

  void find_inputs() {
    ValueSet known;
    for (const Instruction* x : lanes_) {
      for (const Value& input : inputs_of(*x)) {
        if (!inside_.contains(input.def) && known.insert(input).second) inputs_.push_back(input);
      }
    }
  }

  void find_use(Value old) {
    bool used = false;
    bool only_summed = !v_.sums_by_calls();
    for (Instruction* user : old.def->users()) {
      if (std::ranges::find(user->operands(), old) == user->operands().end()) continue;
      if (inside_.contains(&holder_in(from_, *user))) continue;
      used = true;
      only_summed = only_summed && &user->parent() == &from_ && is_plain_sum(v_, *user, old);
    }
    if (!used) return;
    if (!v_.varying(old)) {
      outputs_.push_back({old, As::value, old.type()});
    } else if (only_summed) {
      outputs_.push_back({old, As::sum, {dtype_of_sum(old.dtype()), old.shape()}});
    } else {
      outputs_.push_back({old, As::stack, v_.stacked_type(old.type())});
    }
  }

  static std::vector<Value> add_parameters(Computation& region, std::span<const Value> initial) {
    std::vector<Value> parameters;
    for (const Value& value : initial) parameters.push_back(region.add_parameter(value.type()));
    return parameters;
  }

  void write_condition(Computation& region, std::span<const Value> initial) const {
    const Value i = add_parameters(region, initial)[0];
    Builder b(region);
    const Value count = b.scalar(DType::s32, static_cast<double>(v_.num_replicas()));
    region.set_results({b.compare(i, count, ComparisonDirection::lt)});
  }

  void write_body(Computation& body, std::span<const Value> initial) const {
    const std::vector<Value> carried = add_parameters(body, initial);
    const Value i = carried[0];
    Builder b(body);
    ValueMap map;
    for (const Value& input : inputs_) {
      map[input] = v_.varying(input) ? row(b, v_.at(input), i) : v_.at(input);
    }
    for (Instruction* x : lanes_) {
      if (x->is(Opcode::replica_id)) {
        const Value first = b.scalar(DType::u32, static_cast<double>(v_.first_replica()));
        map[x->result()] = b.add(b.convert(i, DType::u32), first);
      } else {
        copy_instruction(*x, map, body, nullptr);
      }
    }
    std::vector<Value> next{b.add(i, b.scalar(DType::s32, 1))};
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const Value value = map.at(outputs_[k].old);
      switch (outputs_[k].as) {
        case As::stack:
          next.push_back(with_row(b, carried[k + 1], value, i));
          break;
        case As::sum:
          next.push_back(b.add(carried[k + 1], b.convert(value, outputs_[k].type.dtype)));
          break;
        case As::value:
          next.push_back(value);
          break;
      }
    }
    body.set_results(next);
  }

  Vectorizer& v_;
  const Computation& from_;
  const Instructions& lanes_;
  std::unordered_set<const Instruction*> inside_;
  std::vector<Value> inputs_;
  std::vector<Output> outputs_;
};

}  // namespace

void Vectorizer::write_in_turn(const Computation& from) {
  for (const Stage& stage : stages_of(from, variance_)) {
    for (Instruction* x : stage.uniform) write(*x);
    if (!stage.lanes.empty()) TurnWriter(*this, stage.lanes).write();
    for (Instruction* x : stage.together) write(*x);
  }
}

}  // namespace systole::hlo::replicas
