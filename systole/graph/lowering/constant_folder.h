// Values of HLO that depend on constants alone, found while a program is being built.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/hlo/ir/module.h"

namespace systole {

// Remembers what it has found. Forget before instructions that it has seen are erased.
class ConstantFolder {
 public:
  ConstantFolder() = default;
  // Looks at `outer` for what it knows besides.
  explicit ConstantFolder(const ConstantFolder* outer) : outer_(outer) {}

  // Takes `value`, a parameter usually, to be `tensor`.
  void bind(hlo::Value value, Tensor tensor) { known_[value] = std::move(tensor); }
  // nullopt when `value` depends on anything but constants and bound values.
  std::optional<Tensor> fold(hlo::Value value);
  void forget();

 private:
  const Tensor* find(hlo::Value value) const;
  bool constant_cone(hlo::Value value, std::vector<hlo::Instruction*>& cone);

  const ConstantFolder* outer_ = nullptr;
  std::unordered_map<hlo::Value, Tensor, hlo::ValueHash> known_;
  std::unordered_set<const hlo::Instruction*> varying_;
};

}  // namespace systole
