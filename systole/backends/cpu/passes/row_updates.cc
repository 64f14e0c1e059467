#include "systole/backends/cpu/passes/row_updates.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/match.h"
#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/ir/builder.h"

namespace systole::cpu {
namespace {

using hlo::Builder;
using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

constexpr int64_t kMinRowsAnUpdate = 4;  // of the table: else all rows are nearly as fast
constexpr size_t kMaxInstructions = 64;

Dims axes_behind_first(const Shape& shape) {
  Dims axes;
  for (int64_t axis = 1; axis < shape.rank(); ++axis) axes.push_back(axis);
  return axes;
}

// A scatter that adds rows to zeros.
bool is_gradient_of_rows(const Instruction& x) {
  if (!x.is(Opcode::scatter) || x.num_operands() != 3 || !is_floating(x.dtype())) return false;
  const auto& a = x.attrs<hlo::ScatterAttrs>();
  const Shape& table = x.shape();
  const Shape& indices = x.operand(1).shape();
  const bool vectors = indices.rank() == 2 && indices[1] == 1 && a.index_vector_dim == 1;
  const bool numbers = indices.rank() == 1 && a.index_vector_dim == 1;
  return (vectors || numbers) && size_of(x.operand(1).dtype()) >= 4 && table.rank() >= 2 &&
         table[0] >= kMinRowsAnUpdate * indices[0] && a.input_batching_dims.empty() &&
         a.inserted_window_dims == Dims{0} && a.scatter_dims_to_operand_dims == Dims{0} &&
         a.update_window_dims == axes_behind_first(table) &&
         x.operand(2).shape().num_elements() ==
             indices[0] * (table.num_elements() / std::max<int64_t>(table[0], 1)) &&
         hlo::is_splat(x.operand(0), 0) && hlo::match_reducer(x.region()) == Opcode::add;
}

// What an instruction is where the gradient is zero.
struct AtZero {
  bool zero = false;
  Value same = {};  // as this array; none: something else
};

// The elementwise instructions that use a gradient, in program order.
class Update {
 public:
  explicit Update(Instruction& gradient) : gradient_(gradient) {
    known_[gradient.result()] = {.zero = true};
    complete_ = collect();
  }

  // Returns whether rows without a gradient keep their values. (What uses the new tables must come
  // after all of the update.)
  bool keeps_other_rows() const {
    return complete_ && !results_.empty() && !used_before_end_ &&
           std::ranges::all_of(results_, [&](const Instruction* x) {
             const Value same = known_.at(const_cast<Instruction*>(x)->result()).same;
             return static_cast<bool>(same);
           });
  }

  void rewrite() {
    Instruction& last = *members_.back();
    Builder b(gradient_.parent(), &last);
    b.set_metadata(gradient_.metadata());
    const Rows rows = rows_of_gradient(b);
    std::unordered_map<Value, Value, hlo::ValueHash> in_rows = {{gradient_.result(), rows.sums}};
    const auto row_value = [&](const Value& value) {
      Value& known = in_rows[value];
      if (!known) known = part_of(b, value, rows.indices);
      return known;
    };
    std::vector<std::pair<Instruction*, Value>> replaced;
    for (Instruction* x : members_) {
      std::vector<Value> operands;
      for (const Value& operand : x->operands()) operands.push_back(row_value(operand));
      const Value value = b.op(x->opcode(), std::move(operands), x->attrs())->result();
      in_rows[x->result()] = value;
      if (std::ranges::find(results_, x) == results_.end()) continue;
      replaced.emplace_back(x, assign(b, known_.at(x->result()).same, rows.indices, value));
    }
    for (const auto& [x, value] : replaced) Computation::replace_all_uses(x->result(), value);
    for (auto x = members_.rbegin(); x != members_.rend(); ++x) gradient_.parent().erase(*x);
    gradient_.parent().erase(&gradient_);
  }

 private:
  struct Rows {
    Value indices;  // [n, 1]
    Value sums;     // of the updates of each index, for each of its appearances
  };

  bool is_member(const Instruction* x) const {
    return std::ranges::find(members_, x) != members_.end();
  }

  // Values that any row of can be had.
  bool has_rows(const Value& value) const {
    if (value.shape() != gradient_.shape()) return false;
    return known_.contains(value) || value.def->is(Opcode::parameter) || spread_of(value);
  }

  // A value that is spread over all rows.
  static bool spread_of(const Value& value) {
    const Instruction& x = *value.def;
    return x.is(Opcode::broadcast_in_dim) &&
           std::ranges::count(x.attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions, 0) == 0;
  }

  bool collect() {
    for (Instruction* x : gradient_.parent().instructions()) {
      const auto uses = [&](const Value& operand) { return known_.contains(operand); };
      if (x == &gradient_ || !std::ranges::any_of(x->operands(), uses)) continue;
      const bool fits = x->traits().has(hlo::kElementwise) && x->num_results() == 1 &&
                        members_.size() < kMaxInstructions &&
                        std::ranges::all_of(
                            x->operands(), [&](const Value& operand) { return has_rows(operand); });
      if (!fits) continue;
      members_.push_back(x);
      known_[x->result()] = at_zero(*x);
    }
    for (const Instruction* user : gradient_.users()) {
      if (!is_member(user)) return false;
    }
    for (Instruction* x : members_) {
      if (std::ranges::any_of(x->users(), [&](const Instruction* u) { return !is_member(u); }))
        results_.push_back(x);
    }
    note_early_uses();
    return true;
  }

  void note_early_uses() {
    std::unordered_set<const Instruction*> before;
    for (const Instruction* x : gradient_.parent().instructions()) {
      before.insert(x);
      if (!members_.empty() && x == members_.back()) break;
    }
    for (const Instruction* x : results_) {
      for (const Instruction* user : x->users()) {
        // (A region's instruction is in none of these.)
        const bool here = &user->parent() == &gradient_.parent();
        used_before_end_ = used_before_end_ || !here || (!is_member(user) && before.contains(user));
      }
    }
  }

  AtZero of(const Value& operand) const {
    const auto found = known_.find(operand);
    if (found != known_.end()) return found->second;
    return operand.def->is(Opcode::parameter) ? AtZero{.same = operand} : AtZero{};
  }

  AtZero at_zero(const Instruction& x) const {
    const AtZero a = of(x.operand(0));
    const AtZero b = x.num_operands() == 2 ? of(x.operand(1)) : AtZero{};
    switch (x.opcode()) {
      case Opcode::multiply:
        return {.zero = a.zero || b.zero};
      case Opcode::divide:
        return {.zero = a.zero && !b.zero};
      case Opcode::negate:
      case Opcode::abs:
      case Opcode::convert:
        return {.zero = a.zero};
      case Opcode::add:
        if (a.zero) return b;
        return b.zero ? a : AtZero{};
      case Opcode::subtract:
        return b.zero ? a : AtZero{};
      default:
        return {};
    }
  }

  // The first index of a row stands for all of them, which have its number in a table of the rows.
  // Updates outside of the table are dropped: their number is none.
  Rows rows_of_gradient(Builder& b) const {
    const int64_t count = gradient_.operand(1).shape()[0];
    const Value indices = b.reshape(gradient_.operand(1), Shape{count, 1});
    const DType dtype = indices.dtype();
    const TensorType numbers{DType::s32, {count}};
    const int64_t table_rows = gradient_.shape()[0];
    const Value table =
        assign(b, b.splat({DType::s32, {table_rows}}, 0), indices, b.iota(numbers, 0));
    const Value number = part_of(b, table, indices);
    const Value flat = b.reshape(indices, Shape{count});
    const TensorType flat_type{dtype, {count}};
    Value inside = b.compare(flat, b.splat(flat_type, static_cast<double>(table_rows)),
                             hlo::ComparisonDirection::lt);
    if (dtype_info(dtype).is_signed) {
      inside = b.binary(Opcode::and_, inside,
                        b.compare(flat, b.splat(flat_type, 0), hlo::ComparisonDirection::ge));
    }
    const Value place = b.reshape(
        b.select(inside, number, b.splat(numbers, static_cast<double>(count))), Shape{count, 1});
    const Value updates = gradient_.operand(2);
    const Value sums = scatter(b, b.splat(updates.type(), 0), place, updates, Opcode::add);
    return {.indices = indices, .sums = part_of(b, sums, place)};
  }

  // The rows of the array.
  static Value part_of(Builder& b, const Value& value, const Value& indices) {
    const int64_t count = indices.shape()[0];
    Dims sizes = value.shape().dims();
    sizes[0] = count;
    if (value.def->is(Opcode::broadcast_in_dim) && spread_of(value)) {
      return b.broadcast_in_dim(value.def->operand(0), Shape(sizes),
                                value.def->attrs<hlo::BroadcastInDimAttrs>().broadcast_dimensions);
    }
    Dims one = value.shape().dims();
    one[0] = 1;
    return b
        .op(Opcode::gather, {value, indices},
            hlo::GatherAttrs{.offset_dims = axes_behind_first(value.shape()),
                             .collapsed_slice_dims = {0},
                             .start_index_map = {0},
                             .index_vector_dim = 1,
                             .slice_sizes = one})
        ->result();
  }

  // `table` with new rows. Without a reducer, those that an index names twice are equal.
  static Value scatter(Builder& b, const Value& table, const Value& indices, const Value& rows,
                       std::optional<Opcode> reducer) {
    return b
        .op_with_regions(Opcode::scatter, {table, indices, rows},
                         hlo::ScatterAttrs{.update_window_dims = axes_behind_first(table.shape()),
                                           .inserted_window_dims = {0},
                                           .scatter_dims_to_operand_dims = {0},
                                           .index_vector_dim = 1},
                         [&](Instruction& x) {
                           Computation& region = x.add_region();
                           if (reducer) return hlo::fill_reducer(region, *reducer, table.dtype());
                           region.add_parameter({table.dtype(), {}});
                           region.set_results({region.add_parameter({table.dtype(), {}})});
                         })
        ->result();
  }
  static Value assign(Builder& b, const Value& table, const Value& indices, const Value& rows) {
    return scatter(b, table, indices, rows, std::nullopt);
  }

  Instruction& gradient_;
  std::unordered_map<Value, AtZero, hlo::ValueHash> known_;
  std::vector<Instruction*> members_;
  std::vector<Instruction*> results_;  // used by others
  bool complete_ = false;
  bool used_before_end_ = false;
};

bool rewrite_gradients(Computation& program) {
  // No rewrite erases another gradient.
  std::vector<Instruction*> gradients;
  for (Instruction* x : program.instructions()) {
    if (is_gradient_of_rows(*x)) gradients.push_back(x);
  }
  bool changed = false;
  for (Instruction* x : gradients) {
    Update update(*x);
    if (!update.keeps_other_rows()) continue;
    update.rewrite();
    changed = true;
  }
  return changed;
}

}  // namespace

bool RowUpdates::run(hlo::Module& module) { return rewrite_programs(module, rewrite_gradients); }

}  // namespace systole::cpu
