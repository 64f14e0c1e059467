#include "systole/keras/engine/weight_paths.h"

namespace systole::keras {
namespace {

void add_weight_paths(const LayerDefinition& layer, const std::string& scope, WeightNames& paths) {
  for (const WeightPtr& weight : layer.own_weights()) {
    paths.emplace(weight.get(), scope + weight->name());
  }
  for (const auto& inner : layer.sublayers()) {
    add_weight_paths(*inner, scope + inner->name() + "/", paths);
  }
}

}  // namespace

WeightNames weight_paths(const LayerDefinition& model) {
  WeightNames paths;
  add_weight_paths(model, "", paths);
  return paths;
}

}  // namespace systole::keras
