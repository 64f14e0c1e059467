#include "systole/keras/call_context.h"

#include "systole/graph/api/array_ops.h"

namespace systole::keras {

Output CallContext::value(const WeightPtr& weight) {
  Output& value = values_[weight.get()];
  if (!value.valid()) {
    const GraphScope scope(graph_);
    value = abstract() ? placeholder(weight->type().dtype, weight->shape())
                       : variable_of_(weight).value();
  }
  return value;
}

Output CallContext::mask(const Output& tensor) const {
  const auto it = masks_.find(tensor);
  return it == masks_.end() ? Output() : it->second;
}

}  // namespace systole::keras
