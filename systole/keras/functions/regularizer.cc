#include "systole/keras/functions/regularizer.h"

#include "systole/graph/api/math_ops.h"
#include "systole/keras/base/fields.h"

namespace systole::keras {
namespace {

RegularizerFn penalty(double l1, double l2) {
  return [l1, l2](const Output& weight) {
    Output total;
    if (l1 != 0) total = reduce_sum(abs(weight)) * l1;
    if (l2 != 0) {
      const Output squares = reduce_sum(square(weight)) * l2;
      total = total.valid() ? total + squares : squares;
    }
    return total.valid() ? total : reduce_sum(weight) * 0.0F;
  };
}

ClassTable<RegularizerFn>& regularizer_table() {
  static ClassTable<RegularizerFn> classes = [] {
    ClassTable<RegularizerFn> made("regularizer");
    using Names = std::vector<std::string>;
    made.add(
        "L1L2", {},
        [](const Json& config) {
          return penalty(config.value("l1", 0.0), config.value("l2", 0.0));
        },
        Names{"l1", "l2"});
    made.add(
        "l1", {}, [](const Json& config) { return penalty(config.value("l", 0.01), 0); },
        Names{"l"});
    made.add(
        "l2", {}, [](const Json& config) { return penalty(0, config.value("l", 0.01)); },
        Names{"l"});
    made.add(
        "l1_l2", {},
        [](const Json& config) {
          return penalty(config.value("l1", 0.01), config.value("l2", 0.01));
        },
        Names{"l1", "l2"});
    return made;
  }();
  return classes;
}

}  // namespace

RegularizerSpec::RegularizerSpec(const std::string& name)
    : object_(regularizer_table().make(name)) {}

void register_regularizer(const std::string& class_name, ClassTable<RegularizerFn>::Make make) {
  regularizer_table().add(class_name, {}, std::move(make));
}

namespace regularizers {

RegularizerSpec L1L2(double l1, double l2) {
  return RegularizerSpec(regularizer_table().make("L1L2", {{"l1", l1}, {"l2", l2}}));
}
RegularizerSpec l1(double l) { return L1L2(l, 0); }
RegularizerSpec l2(double l) { return L1L2(0, l); }
RegularizerSpec l1_l2(double l1, double l2) { return L1L2(l1, l2); }

}  // namespace regularizers

Json JsonType<RegularizerSpec>::to_json(const RegularizerSpec& regularizer) {
  return optional_to_json<RegularizerFn>(regularizer.object(), "regularizer");
}

RegularizerSpec JsonType<RegularizerSpec>::from_json(const Json& json) {
  return json.is_null() ? RegularizerSpec() : RegularizerSpec(regularizer_table().from_json(json));
}

std::vector<ClassDoc> JsonType<RegularizerSpec>::classes() { return regularizer_table().docs(); }

}  // namespace systole::keras
