#include "systole/hlo/passes/cse.h"

#include <unordered_map>

#include "systole/hlo/analysis/queries.h"
#include "systole/hlo/analysis/structural_equality.h"

namespace systole::hlo {
namespace {

class CommonSubexpressions {
 public:
  bool run(Module& module) {
    for (const auto& function : module.functions()) visit(*function);
    return changed_;
  }

 private:
  using Table = std::unordered_multimap<size_t, Instruction*>;

  void visit(Computation& computation) {
    std::vector<Table::iterator> added;
    for (Instruction* instruction : computation.instructions()) {
      // Inner instructions first: regions that differ only in duplicates then compare equal.
      visit_regions(*instruction);
      if (!is_pure(*instruction)) continue;
      const size_t hash = structural_hash(*instruction);
      if (Instruction* earlier = find(*instruction, hash)) {
        for (int i = 0; i < instruction->num_results(); ++i) {
          Computation::replace_all_uses(instruction->result(i), earlier->result(i));
        }
        computation.erase(instruction);
        changed_ = true;
      } else {
        added.push_back(table_.emplace(hash, instruction));
      }
    }
    // Values defined here are not visible after the region.
    for (const auto entry : added) table_.erase(entry);
  }

  void visit_regions(const Instruction& instruction) {
    // Reducers and fusions stay functions of their parameters.
    Table hidden;
    if (!instruction.traits().has(kCapturing)) std::swap(hidden, table_);
    for (const auto& region : instruction.regions()) visit(*region);
    if (!instruction.traits().has(kCapturing)) std::swap(hidden, table_);
  }

  Instruction* find(const Instruction& instruction, size_t hash) {
    const auto [first, last] = table_.equal_range(hash);
    for (auto entry = first; entry != last; ++entry) {
      if (structurally_equal(*entry->second, instruction)) return entry->second;
    }
    return nullptr;
  }

  Table table_;
  bool changed_ = false;
};

}  // namespace

bool CommonSubexpressionElimination::run(Module& module) {
  return CommonSubexpressions().run(module);
}

}  // namespace systole::hlo
