#include "systole/keras/engine/call_context.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/keras/engine/layer.h"

namespace systole::keras {

bool CallContext::trainable(const LayerDefinition& layer) const {
  if (trainable_layers_ != nullptr) {
    const auto it = trainable_layers_->find(&layer);
    if (it != trainable_layers_->end()) return it->second;
  }
  return layer.trainable();
}

Output CallContext::value(const WeightPtr& weight) {
  Output& value = values_[weight.get()];
  if (!value.valid()) {
    const GraphScope scope(graph_);
    value = abstract() ? placeholder(weight->type().dtype, weight->shape())
                       : variable_of_(weight).value();
  }
  return value;
}

void CallContext::add_update(const WeightPtr& weight, const Output& value) {
  const auto it = std::ranges::find(updates_, weight, &Update::weight);
  if (it == updates_.end()) {
    updates_.push_back({weight, value});
  } else {
    it->value = value;
  }
}

Output CallContext::latest(const WeightPtr& weight) {
  const auto it = std::ranges::find(updates_, weight, &Update::weight);
  return it == updates_.end() ? value(weight) : it->value;
}

Output CallContext::mask(const Output& tensor) const {
  const auto it = masks_.find(tensor);
  return it == masks_.end() ? Output() : it->second;
}

}  // namespace systole::keras
