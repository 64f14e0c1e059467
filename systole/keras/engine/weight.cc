#include "systole/keras/engine/weight.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/session/session.h"

namespace systole::keras {

Weight::Weight(std::string name, Shape shape, WeightOptions options)
    : name_(std::move(name)),
      type_{options.dtype, std::move(shape)},
      options_(std::move(options)) {}

const Tensor& Weight::value() {
  if (holder_ != nullptr) holder_->release_weights();
  if (!host_) {
    Weight* const self = this;
    initialize(std::span(&self, 1));
  }
  return *host_;
}

void Weight::set_value(Tensor value) {
  if (value.type() != type_) {
    throw invalid_argument("weight '{}': value, got {}, expected {}", name_, value.type(), type_);
  }
  if (holder_ != nullptr) holder_->release_weights();
  host_ = std::move(value);
  ++version_;
}

void Weight::hold(WeightHolder* holder) {
  holder_ = holder;
  ++version_;
}

void Weight::take(Tensor value) {
  host_ = std::move(value);
  holder_ = nullptr;
}

void initialize(std::span<Weight* const> weights) {
  Graph graph;
  const GraphScope scope(graph);
  std::vector<Weight*> missing;
  std::vector<Fetch> fetches;
  for (Weight* weight : weights) {
    if (weight->has_value()) continue;
    missing.push_back(weight);
    fetches.emplace_back(weight->options().initializer(weight->shape(), weight->type().dtype));
  }
  if (missing.empty()) return;
  Session session("", {.graph = &graph});
  std::vector<Tensor> values = session.run(fetches);
  for (size_t i = 0; i < missing.size(); ++i) missing[i]->set_value(std::move(values[i]));
}

void initialize(std::span<const WeightPtr> weights) {
  std::vector<Weight*> pointers;
  for (const WeightPtr& weight : weights) pointers.push_back(weight.get());
  initialize(std::span<Weight* const>(pointers));
}

}  // namespace systole::keras
