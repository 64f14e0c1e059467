#include "systole/backends/cpu/passes/update_fusion.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/analysis/row_access.h"
#include "systole/backends/cpu/passes/rewrite_each.h"
#include "systole/hlo/analysis/queries.h"

namespace systole::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Value;

bool is_used_by(const Value& value, const Instruction& user) {
  return std::ranges::find(user.operands(), value) != user.operands().end();
}

bool has_a_user(const Value& value) {
  return std::ranges::any_of(value.def->users(),
                             [&](const Instruction* user) { return is_used_by(value, *user); });
}

// One loop nest, which does not write a part of the same array already.
bool takes_update(const Instruction& fusion, const Value& array) {
  if (!fusion.is(Opcode::fusion) || is_row_fusion(fusion) || is_product_fusion(fusion))
    return false;
  if (std::ranges::find(fusion.operands(), array) != fusion.operands().end()) return false;
  return std::ranges::none_of(fusion.region().results(),
                              [](const Value& root) { return root.def->is(Opcode::reduce); });
}

// The elements lie one behind the other in the array.
bool is_contiguous_part(const Shape& part, const Shape& array) {
  int d = 0;
  while (d < array.rank() && part[d] == 1) ++d;
  for (++d; d < array.rank(); ++d) {
    if (part[d] != array[d]) return false;
  }
  return part.num_elements() > 1 && part.num_elements() < array.num_elements();
}

class JoinedUpdates {
 public:
  explicit JoinedUpdates(hlo::Computation& program) : program_(program) {
    for (Instruction* x : program.instructions()) {
      place_[x] = static_cast<int>(place_.size());
      if (x->is(Opcode::dynamic_update_slice)) updates_.push_back(x);
    }
  }

  bool join() {
    bool changed = false;
    for (Instruction* update : updates_) changed = join(*update) || changed;
    return changed;
  }

 private:
  bool is_before(const Value& value, const Instruction& x) const {
    if (&value.def->parent() != &program_) return true;
    return value.def->is(Opcode::constant) || place_.at(value.def) < place_.at(&x);
  }

  // Where the fusion is, the array is not read any more, and the place in it is known.
  bool can_move(const Instruction& update, const Instruction& fusion) const {
    const Value array = update.operand(0);
    if (!is_before(array, fusion)) return false;
    for (int i = 2; i < update.num_operands(); ++i) {
      if (!is_before(update.operand(i), fusion)) return false;
    }
    return std::ranges::all_of(array.def->users(), [&](const Instruction* user) {
      if (user == &update || !is_used_by(array, *user)) return true;
      if (&user->parent() != &program_ || user == program_.terminator()) return false;
      return !user->traits().has(hlo::kBitcast) && place_.at(user) < place_.at(&fusion);
    });
  }

  bool join(Instruction& update) {
    if (!is_contiguous_part(update.operand(1).shape(), update.shape())) return false;
    std::vector<Instruction*> erased = {&update};
    Value part = update.operand(1);
    while (part.def->is(Opcode::reshape) && &part.def->parent() == &program_) {
      erased.push_back(part.def);
      part = part.def->operand(0);
    }
    if (&part.def->parent() != &program_ || !takes_update(*part.def, update.operand(0)))
      return false;
    if (!can_move(update, *part.def)) return false;
    replace(*part.def, part.index, erased);
    return true;
  }

  // Whether others than these read the part, or a reshape of it.
  static bool has_other_users(const Value& part, const std::vector<Instruction*>& behind) {
    const auto is_other = [&](const Instruction* user) {
      return std::ranges::find(behind, user) == behind.end();
    };
    for (auto x = behind.begin() + 1; x != behind.end(); ++x) {
      if (std::ranges::any_of((*x)->users(), is_other)) return true;
    }
    return std::ranges::any_of(part.def->users(), [&](const Instruction* user) {
      return is_other(user) && is_used_by(part, *user);
    });
  }

  // `behind` leads from the update back to the fusion's result number `part`.
  void replace(Instruction& fusion, int part, const std::vector<Instruction*>& behind) {
    Instruction& update = *behind.front();
    std::vector<Value> operands(fusion.operands().begin(), fusion.operands().end());
    for (int i = 0; i < update.num_operands(); ++i) {
      const Value& operand = update.operand(i);
      const bool inside = i == 1 || operand.def->is(Opcode::constant);
      if (!inside && std::ranges::find(operands, operand) == operands.end())
        operands.push_back(operand);
    }
    const bool kept = has_other_users(fusion.result(part), behind);
    std::vector<Value> results;
    for (int r = 0; r < fusion.num_results(); ++r) {
      if (r != part || kept) results.push_back(fusion.result(r));
    }
    results.push_back(update.result());
    std::vector<TensorType> types;
    for (const Value& result : results) types.push_back(result.type());
    Instruction* const joined =
        program_.insert(Opcode::fusion, operands, std::move(types), hlo::NoAttrs{}, &fusion);
    joined->set_metadata(fusion.metadata());
    place_[joined] = place_.at(&fusion);
    fill_region(*joined, fusion, behind, results);
    for (size_t r = 0; r < results.size(); ++r)
      hlo::Computation::replace_all_uses(results[r], joined->result(static_cast<int>(r)));
    for (Instruction* x : behind) {
      if (!has_a_user(x->result())) program_.erase(x);
    }
    program_.erase(&fusion);
  }

  static void fill_region(Instruction& joined, const Instruction& fusion,
                          const std::vector<Instruction*>& behind,
                          const std::vector<Value>& results) {
    hlo::Computation& region = joined.add_region();
    hlo::ValueMap map;
    for (const Value& operand : joined.operands())
      map[operand] = region.add_parameter(operand.type());
    for (const Instruction* x : fusion.region().instructions()) {
      if (x->is(Opcode::parameter)) {
        const int number = x->attrs<hlo::ParameterAttrs>().index;
        map[fusion.region().parameter(number)] = map.at(fusion.operand(number));
      } else if (x != fusion.region().terminator()) {
        hlo::copy_instruction(*x, map, region, nullptr);
      }
    }
    for (int r = 0; r < fusion.num_results(); ++r) {
      map[const_cast<Instruction&>(fusion).result(r)] =
          map.at(fusion.region().results()[static_cast<size_t>(r)]);
    }
    for (const Value& start : behind.front()->operands().subspan(2)) {
      if (!map.contains(start)) hlo::copy_instruction(*start.def, map, region, nullptr);
    }
    for (auto x = behind.rbegin(); x != behind.rend(); ++x)
      hlo::copy_instruction(**x, map, region, nullptr);
    std::vector<Value> roots;
    for (const Value& result : results) roots.push_back(map.at(result));
    region.set_results(std::move(roots));
  }

  hlo::Computation& program_;
  std::unordered_map<const Instruction*, int> place_;
  std::vector<Instruction*> updates_;
};

}  // namespace

bool UpdateFusion::run(hlo::Module& module) {
  return rewrite_programs(module,
                          [](hlo::Computation& program) { return JoinedUpdates(program).join(); });
}

}  // namespace systole::cpu
