// Projections that weights are kept to after each update. (tf.keras.constraints)
#pragma once

#include <functional>
#include <string>

#include "systole/graph/core/graph.h"
#include "systole/keras/base/configured.h"

namespace systole::keras {

// Returns the weight projected onto the allowed set; applied after each update.
using ConstraintFn = std::function<Output(const Output& weight)>;

template <class T>
struct JsonType;

// "non_neg", constraints::MaxNorm(3), a function, or none.
class ConstraintSpec {
 public:
  ConstraintSpec() = default;
  ConstraintSpec(std::nullptr_t) {}                                                // NOLINT
  ConstraintSpec(const char* name) : ConstraintSpec(std::string(name)) {}          // NOLINT
  ConstraintSpec(const std::string& name);                                         // NOLINT
  ConstraintSpec(ConstraintFn function) : object_{"", {}, std::move(function)} {}  // NOLINT
  explicit ConstraintSpec(Configured<ConstraintFn> object) : object_(std::move(object)) {}

  explicit operator bool() const { return object_.function != nullptr; }
  const Configured<ConstraintFn>& object() const { return object_; }
  const ConstraintFn& function() const { return object_.function; }

 private:
  Configured<ConstraintFn> object_;
};

void register_constraint(const std::string& class_name, ClassTable<ConstraintFn>::Make make);

// `axis`: the axes over which the norm is taken; 0 for a Dense kernel [inputs, units].
// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
namespace constraints {
ConstraintSpec MaxNorm(double max_value = 2, int64_t axis = 0);
ConstraintSpec NonNeg();
ConstraintSpec UnitNorm(int64_t axis = 0);
// w * (rate * clip(norm, min, max) + (1 - rate) * norm) / (epsilon + norm)
ConstraintSpec MinMaxNorm(double min_value = 0, double max_value = 1, double rate = 1,
                          int64_t axis = 0);
}  // namespace constraints
// NOLINTEND(readability-identifier-naming)

template <>
struct JsonType<ConstraintSpec> {
  static constexpr std::string_view name = "the name or configuration of a constraint, or null";
  static constexpr ArgumentKind kind = ArgumentKind::object;
  static std::vector<ClassDoc> classes();
  static Json to_json(const ConstraintSpec& constraint);
  static ConstraintSpec from_json(const Json& json);
};

}  // namespace systole::keras
