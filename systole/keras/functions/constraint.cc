#include "systole/keras/functions/constraint.h"

#include "systole/graph/api/math_ops.h"
#include "systole/keras/base/fields.h"

namespace systole::keras {
namespace {

constexpr double kNormEpsilon = 1e-7;

Output norm_along(const Output& w, int64_t axis) {
  return sqrt(reduce_sum(square(w), {.axis = axis, .keepdims = true}));
}

Output max_norm(const Output& w, double max_value, int64_t axis) {
  const Output norm = norm_along(w, axis);
  return w * (clip_by_value(norm, 0.0F, max_value) / (norm + kNormEpsilon));
}

ConstraintFn min_max_norm_of(const Json& config) {
  return
      [least = config.value("min_value", 0.0), most = config.value("max_value", 1.0),
       rate = config.value("rate", 1.0), axis = config.value("axis", int64_t{0})](const Output& w) {
        const Output norm = norm_along(w, axis);
        const Output desired = clip_by_value(norm, least, most) * rate + norm * (1 - rate);
        return w * (desired / (norm + kNormEpsilon));
      };
}

ClassTable<ConstraintFn>& constraint_table() {
  static ClassTable<ConstraintFn> classes = [] {
    ClassTable<ConstraintFn> made("constraint");
    using Names = std::vector<std::string>;
    made.add(
        "MaxNorm", {"max_norm"},
        [](const Json& config) -> ConstraintFn {
          return [max = config.value("max_value", 2.0), axis = config.value("axis", int64_t{0})](
                     const Output& w) { return max_norm(w, max, axis); };
        },
        Names{"max_value", "axis"}, "Norms of at most max_value.");
    made.add(
        "NonNeg", {"non_neg", "nonneg"},
        [](const Json&) -> ConstraintFn {
          return [](const Output& w) { return maximum(w, 0.0F); };
        },
        Names{}, "No values below 0.");
    made.add(
        "UnitNorm", {"unit_norm"},
        [](const Json& config) -> ConstraintFn {
          return [axis = config.value("axis", int64_t{0})](const Output& w) {
            return w / (norm_along(w, axis) + kNormEpsilon);
          };
        },
        Names{"axis"}, "Norms of 1.");
    made.add("MinMaxNorm", {"min_max_norm"}, min_max_norm_of,
             Names{"min_value", "max_value", "rate", "axis"},
             "Norms from min_value to max_value, approached at this rate.");
    return made;
  }();
  return classes;
}

}  // namespace

ConstraintSpec::ConstraintSpec(const std::string& name) : object_(constraint_table().make(name)) {}

void register_constraint(const std::string& class_name, ClassTable<ConstraintFn>::Make make) {
  constraint_table().add(class_name, {}, std::move(make));
}

namespace constraints {

ConstraintSpec MaxNorm(double max_value, int64_t axis) {
  return ConstraintSpec(
      constraint_table().make("MaxNorm", {{"max_value", max_value}, {"axis", axis}}));
}
ConstraintSpec NonNeg() { return ConstraintSpec(constraint_table().make("NonNeg")); }
ConstraintSpec UnitNorm(int64_t axis) {
  return ConstraintSpec(constraint_table().make("UnitNorm", {{"axis", axis}}));
}
ConstraintSpec MinMaxNorm(double min_value, double max_value, double rate, int64_t axis) {
  return ConstraintSpec(constraint_table().make(
      "MinMaxNorm",
      {{"min_value", min_value}, {"max_value", max_value}, {"rate", rate}, {"axis", axis}}));
}

}  // namespace constraints

Json JsonType<ConstraintSpec>::to_json(const ConstraintSpec& constraint) {
  return optional_to_json<ConstraintFn>(constraint.object(), "constraint");
}

ConstraintSpec JsonType<ConstraintSpec>::from_json(const Json& json) {
  return json.is_null() ? ConstraintSpec() : ConstraintSpec(constraint_table().from_json(json));
}

std::vector<ClassDoc> JsonType<ConstraintSpec>::classes() { return constraint_table().docs(); }

}  // namespace systole::keras
