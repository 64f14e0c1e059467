// What only manual computations have, and custom calls: those that place values, and calls of
// targets. Collective ops in manual computations meet devices along manual axes, or all devices
// with equal parts along the others.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "systole/base/error.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/passes/partition/custom_partition.h"
#include "systole/hlo/passes/partition/partitioner.h"
#include "systole/hlo/passes/partition/rules.h"

namespace systole::hlo::spmd {
namespace {

// Operand i and result i are split alike, except along axes for which `whole` holds.
template <class Predicate>
ShardingRule pairs_except(const Instruction& x, const Predicate& whole) {
  ShardingRule rule = empty_rule(x);
  for (int i = 0; i < x.num_results(); ++i) {
    for (int d = 0; d < x.results()[i].shape.rank(); ++d) {
      if (whole(d)) continue;
      rule.operands[i][d] = rule.results[i][d] = {static_cast<int>(rule.factors.size())};
      rule.factors.push_back({x.results()[i].shape[d]});
    }
  }
  return rule;
}

std::vector<Value> write_constraint(Partitioner& p, Instruction& x) {
  return {p.at(x.operand(0), p.layout_of(x.result()))};
}

// A device has the same part before and after, along the manual axes and the others.
std::vector<Value> write_shape_change(Partitioner& p, Instruction& x) {
  const bool to_local = target_of(x) == kToLocal;
  std::vector<Value> results;
  for (int i = 0; i < x.num_results(); ++i) {
    const Layout& manual = p.placements().manual_parts(x)[i];
    Layout wanted = p.layout_of(x.result(i));
    wanted.unreduced = to_local ? united(wanted.unreduced, manual.unreduced)
                                : without(wanted.unreduced, manual.unreduced);
    for (size_t d = 0; d < wanted.dims.size(); ++d) {
      Atoms& atoms = wanted.dims[d];
      const auto count = static_cast<int64_t>(manual.dims[d].size());
      if (to_local) {
        atoms.insert(atoms.begin(), manual.dims[d].begin(), manual.dims[d].end());
      } else {
        // An axis without elements is not split at all.
        atoms.erase(atoms.begin(), atoms.begin() + std::min(count, std::ssize(atoms)));
      }
    }
    results.push_back(p.at(x.operand(i), wanted));
  }
  return results;
}

// Each device calls the target on its part of the operands.
std::vector<Value> write_on_parts(Partitioner& p, Instruction& x) {
  std::vector<Value> operands;
  for (const Value& operand : x.operands()) {
    Layout layout = p.layout_of(operand);
    layout.unreduced.clear();
    operands.push_back(p.at(operand, layout));
  }
  p.b().op(x.opcode(), std::move(operands), x.attrs(), {});
  return {};
}

std::vector<Value> write_inspection(Partitioner& p, Instruction& x) {
  p.inspect(x);
  return {p.at(x.operand(0), p.layout_of(x.result()))};
}

// The first device calls a target with a side effect, and tells the others the results.
std::vector<Value> write_custom_call(Partitioner& p, Instruction& x) {
  if (!x.attrs<CustomCallAttrs>().has_side_effect || p.is_manual(x)) return p.write_by_factors(x);
  if (x.num_results() == 0 && attribute_text(x, kOnPartsAttribute) == "true") {
    return write_on_parts(p, x);
  }
  Builder& b = p.b();
  std::vector<Value> operands;
  for (const Value& operand : x.operands()) operands.push_back(p.whole(operand));
  const Value device = b.op(Opcode::partition_id, {})->result();
  const Value is_first = b.compare(device, b.scalar(DType::u32, 0), ComparisonDirection::eq);
  const Instruction& called =
      *b.op_with_regions(Opcode::if_, {is_first}, NoAttrs{}, [&](Instruction& now) {
        Computation& calls = now.add_region();
        Builder in_first(calls);
        in_first.set_metadata(x.metadata());
        calls.set_results(results_of(*in_first.op(x.opcode(), operands, x.attrs(),
                                                  {x.results().begin(), x.results().end()})));
        Computation& waits = now.add_region();
        Builder in_others(waits);
        std::vector<Value> nothing;
        for (const TensorType& type : x.results()) {
          const bool is_token = type.dtype == DType::token;
          nothing.push_back(is_token ? in_others.op(Opcode::after_all, {})->result()
                                     : in_others.splat(type, 0));
        }
        waits.set_results(std::move(nothing));
      });
  std::vector<Value> results = results_of(called);
  for (int i = 0; i < x.num_results(); ++i) {
    if (x.results()[i].dtype == DType::token) continue;
    const Value told = p.resharder().from_first_device(b, results[i]);
    results[i] = p.moved(told, p.grid().replicated(told.shape().rank()), x.result(i));
  }
  return results;
}

// The text of Shardy's rule of an op: `<([i, jk], [k])->([i]) {i=4, j=2, k=8} reduction={k}>`.
class RuleText {
 public:
  explicit RuleText(std::string_view text) : text_(text), left_(text) {}

  // Returns the factors that operands have and all results: a device may call the target for a part
  // of them. If the target tells how its parts are computed, all that need not be whole.
  ShardingRule read(const Instruction& x, bool tells_parts) {
    expect("#sdy.op_sharding_rule<");
    const std::vector<Axes> operands = read_tensors();
    expect("->");
    const std::vector<Axes> results = read_tensors();
    read_sizes();
    const std::set<std::string, std::less<>> whole = read_kinds();
    ShardingRule rule = empty_rule(x);
    check_rank(operands, rule.operands);
    check_rank(results, rule.results);
    for (const auto& [name, size] : sizes_) {
      const bool in_all =
          has(operands, name, 1) && has(results, name, results.size()) && !results.empty();
      const bool passes = tells_parts ? !whole.contains(name) || reduced_.contains(name)
                                      : !whole.contains(name) && in_all;
      if (!passes) continue;
      places_[name] = static_cast<int>(rule.factors.size());
      rule.factors.push_back({size, !in_all});
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      place(operands[i], x.operand(static_cast<int>(i)).shape(), tells_parts, rule.operands[i]);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      place(results[i], x.results()[i].shape, tells_parts, rule.results[i]);
    }
    return rule;
  }

 private:
  using Dim = std::vector<std::string>;  // names of factors
  using Axes = std::vector<Dim>;         // of an operand or result

  Error malformed(std::string_view expected) const {
    return invalid_argument("sdy.sharding_rule: got '{}', expected {}", text_, expected);
  }

  bool accept(std::string_view token) {
    while (left_.starts_with(' ')) left_.remove_prefix(1);
    if (!left_.starts_with(token)) return false;
    left_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) throw malformed(fmt::format("'{}' before '{}'", token, left_));
  }

  int64_t read_number() {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number);
    if (error != std::errc()) throw malformed(fmt::format("a number before '{}'", left_));
    left_.remove_prefix(static_cast<size_t>(end - left_.data()));
    return number;
  }

  bool at_name() {
    accept("");
    return !left_.empty() && left_[0] >= 'a' && left_[0] <= 'z';
  }

  // A letter, or z_1, z_2...
  std::string read_name() {
    if (!at_name()) throw malformed(fmt::format("a factor before '{}'", left_));
    std::string name(1, left_[0]);
    left_.remove_prefix(1);
    if (left_.starts_with('_')) {
      left_.remove_prefix(1);
      name += fmt::format("_{}", read_number());
    }
    return name;
  }

  template <class Read>
  void read_list(std::string_view open, std::string_view close, const Read& read) {
    expect(open);
    if (accept(close)) return;
    do read();
    while (accept(","));
    expect(close);
  }

  std::vector<Axes> read_tensors() {
    std::vector<Axes> tensors;
    read_list("(", ")", [&] {
      Axes& axes = tensors.emplace_back();
      read_list("[", "]", [&] {
        Dim& dim = axes.emplace_back();
        while (at_name()) dim.push_back(read_name());
      });
    });
    return tensors;
  }

  void read_sizes() {
    read_list("{", "}", [&] {
      const std::string name = read_name();
      expect("=");
      sizes_[name] = read_number();
    });
  }

  // Returns the factors that must not be split. (Of sums over parts nobody knows the op.)
  std::set<std::string, std::less<>> read_kinds() {
    std::set<std::string, std::less<>> names;
    while (!accept(">")) {
      if (accept(",")) continue;
      if (accept("custom")) continue;
      const bool reduces = accept("reduction");
      const bool known = reduces || accept("need_replication") || accept("permutation") ||
                         accept("blocked_propagation");
      if (!known) throw malformed(fmt::format("a kind of factors before '{}'", left_));
      expect("=");
      read_list("{", "}", [&] {
        const std::string name = read_name();
        names.insert(name);
        if (reduces) reduced_.insert(name);
      });
    }
    return names;
  }

  void check_rank(const std::vector<Axes>& tensors, const std::vector<TensorFactors>& rule) {
    const bool fits = std::ranges::equal(
        tensors, rule, [](const Axes& a, const TensorFactors& b) { return a.size() == b.size(); });
    if (!fits) throw malformed("the axes of the operands and results");
  }

  // Whether at least `count` tensors have the factor.
  static bool has(const std::vector<Axes>& tensors, const std::string& name, size_t count) {
    const auto with = std::ranges::count_if(tensors, [&](const Axes& axes) {
      return std::ranges::any_of(
          axes, [&](const Dim& dim) { return std::ranges::find(dim, name) != dim.end(); });
    });
    return static_cast<size_t>(with) >= count;
  }

  // An axis of which some factor must be whole is whole behind it.
  void place(const Axes& axes, const Shape& shape, bool tells_parts, TensorFactors& factors) const {
    for (size_t d = 0; d < axes.size(); ++d) {
      int64_t product = 1;
      bool splits = true;
      for (const std::string& name : axes[d]) {
        const auto size = sizes_.find(name);
        if (size == sizes_.end()) throw malformed(fmt::format("a size of '{}'", name));
        if (size->second < 0 ||
            (size->second > 0 && product > shape.num_elements() / size->second)) {
          throw malformed("the sizes of axes");
        }
        product *= size->second;
        const auto found = places_.find(name);
        splits = splits && found != places_.end();
        if (splits) factors[d].push_back(found->second);
      }
      if (!axes[d].empty() && product != shape[static_cast<int>(d)]) {
        throw malformed("the sizes of axes");
      }
      // The factors of an axis multiply to its size.
      if (!tells_parts && factors[d].size() != axes[d].size()) factors[d].clear();
    }
  }

  std::string_view text_;
  std::string_view left_;
  std::map<std::string, int64_t, std::less<>> sizes_;
  std::map<std::string, int, std::less<>> places_;  // in the rule
  std::set<std::string, std::less<>> reduced_;
};

}  // namespace

ShardingRule shard_collective(const Instruction& x) {
  return pairs_except(x, [](int) { return false; });
}

ShardingRule shard_all_gather(const Instruction& x) {
  return pairs_except(x, [&](int d) { return d == x.attrs<AllGatherAttrs>().all_gather_dim; });
}

ShardingRule shard_all_to_all(const Instruction& x) {
  const auto& attrs = x.attrs<AllToAllAttrs>();
  return pairs_except(
      x, [&](int d) { return d == attrs.split_dimension || d == attrs.concat_dimension; });
}

ShardingRule shard_reduce_scatter(const Instruction& x) {
  return pairs_except(x,
                      [&](int d) { return d == x.attrs<ReduceScatterAttrs>().scatter_dimension; });
}

// Other custom calls get whole arrays, but along axes that their rule leaves alone.
ShardingRule shard_custom_call(const Instruction& x) {
  const std::string_view target = target_of(x);
  ShardingRule rule = empty_rule(x);
  if (target == kToLocal || target == kToGlobal) {
    rule.write = write_shape_change;
  } else if (is_placement(x)) {
    rule = shard_collective(x);
    if (target == kConstraint) rule.write = write_constraint;
  } else if (target == kInspectSharding && x.num_operands() == 1 && x.num_results() == 1 &&
             x.operand(0).type() == x.type()) {
    rule = shard_collective(x);
    rule.write = write_inspection;
  } else {
    const std::string_view text = attribute_text(x, "sdy.sharding_rule");
    const bool is_custom = target == kCustomPartitioning;
    if (!text.empty()) rule = RuleText(text).read(x, is_custom);
    rule.write = is_custom ? write_custom_partition : write_custom_call;
  }
  return rule;
}

}  // namespace systole::hlo::spmd
