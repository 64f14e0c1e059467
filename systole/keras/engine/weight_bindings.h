// The variables of a graph that stand for weights.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "systole/graph/core/variable.h"
#include "systole/keras/engine/weight.h"
#include "systole/session/session.h"

namespace systole::keras {

// Names of weights by the layers that have them: "dense/kernel".
using WeightNames = std::unordered_map<const Weight*, std::string>;

// One graph's variables, each made when its weight is first asked for. A program under construction
// asks through its CallContext. Lives as long as the graph. Not thread-safe.
class WeightBindings {
 public:
  struct Bound {
    WeightPtr weight;
    Variable variable;
  };
  // Makes a weight's variable in the current graph, outside of name scopes.
  using Make = std::function<Variable(const WeightPtr& weight)>;

  explicit WeightBindings(Make make) : make_(std::move(make)) {}

  Variable variable_of(const WeightPtr& weight);
  // Lets a variable that was made elsewhere stand for a weight, unless one does already.
  void bind(const WeightPtr& weight, const Variable& variable);
  bool contains(const Weight& weight) const { return index_of_.contains(&weight); }
  // In the order in which they were made. REQUIRES: contains(weight).
  size_t index_of(const Weight& weight) const { return index_of_.at(&weight); }
  const std::vector<Bound>& all() const { return all_; }

  // Gives the session's variables the values of the weights; those without a value get their first
  // one before.
  void set_values(Session& session) const;

 private:
  Make make_;
  std::vector<Bound> all_;
  std::unordered_map<const Weight*, size_t> index_of_;
};

// The variables of a model's weights, zero until they are set, in any order of programs under the
// same names: `names()`, which is asked again for a weight that it did not have; a weight without a
// name there is the optimizer's, "optimizer/iterations".
WeightBindings bind_weights(std::function<WeightNames()> names);

}  // namespace systole::keras
