// Penalties on weights and activations. (tf.keras.regularizers)
#pragma once

#include <functional>
#include <string>

#include "systole/graph/core/graph.h"
#include "systole/keras/base/configured.h"

namespace systole::keras {

// Returns the penalty on a weight, an f32 scalar that is added to the loss.
using RegularizerFn = std::function<Output(const Output& weight)>;

template <class T>
struct JsonType;

// "l2", regularizers::l2(0.001), a function, or none.
class RegularizerSpec {
 public:
  RegularizerSpec() = default;
  RegularizerSpec(std::nullptr_t) {}                                                 // NOLINT
  RegularizerSpec(const char* name) : RegularizerSpec(std::string(name)) {}          // NOLINT
  RegularizerSpec(const std::string& name);                                          // NOLINT
  RegularizerSpec(RegularizerFn function) : object_{"", {}, std::move(function)} {}  // NOLINT
  explicit RegularizerSpec(Configured<RegularizerFn> object) : object_(std::move(object)) {}

  explicit operator bool() const { return object_.function != nullptr; }
  const Configured<RegularizerFn>& object() const { return object_; }
  const RegularizerFn& function() const { return object_.function; }

 private:
  Configured<RegularizerFn> object_;
};

void register_regularizer(const std::string& class_name, ClassTable<RegularizerFn>::Make make);

// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
namespace regularizers {
// l1 * sum|w| + l2 * sum w^2.
RegularizerSpec L1L2(double l1 = 0, double l2 = 0);
RegularizerSpec l1(double l = 0.01);
RegularizerSpec l2(double l = 0.01);
RegularizerSpec l1_l2(double l1 = 0.01, double l2 = 0.01);
}  // namespace regularizers
// NOLINTEND(readability-identifier-naming)

template <>
struct JsonType<RegularizerSpec> {
  static constexpr std::string_view name = "the name or configuration of a regularizer, or null";
  static constexpr ArgumentKind kind = ArgumentKind::object;
  static std::vector<ClassDoc> classes();
  static Json to_json(const RegularizerSpec& regularizer);
  static RegularizerSpec from_json(const Json& json);
};

}  // namespace systole::keras
