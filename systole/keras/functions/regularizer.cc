#include "systole/keras/functions/regularizer.h"

#include "systole/keras/base/fields.h"
#include "systole/keras/base/rule_config.h"

namespace systole::keras {
namespace {

ClassTable<RegularizerFn>& regularizer_table() {
  static ClassTable<RegularizerFn> classes = [] {
    ClassTable<RegularizerFn> made("regularizer");
    for (const RegularizerDef* def : all_regularizer_defs()) {
      const auto make = [def](const Json& config) -> RegularizerFn {
        return [def, values = values_from_config(def->arguments, config)](const Output& weight) {
          return def->keras_value(values, weight);
        };
      };
      made.add(std::string(def->keras_class), {}, make, keras_argument_names(def->arguments),
               std::string(def->doc));
    }
    return made;
  }();
  return classes;
}

}  // namespace

RegularizerSpec::RegularizerSpec(const std::string& name)
    : object_(regularizer_table().make(name)) {}

RegularizerSpec::RegularizerSpec(const RegularizerDef& def, const RuleValues& arguments)
    : object_(regularizer_table().make(std::string(def.keras_class),
                                       config_of(def.arguments, arguments))) {}

void register_regularizer(const std::string& class_name, ClassTable<RegularizerFn>::Make make) {
  regularizer_table().add(class_name, {}, std::move(make));
}

Json JsonType<RegularizerSpec>::to_json(const RegularizerSpec& regularizer) {
  return optional_to_json<RegularizerFn>(regularizer.object(), "regularizer");
}

RegularizerSpec JsonType<RegularizerSpec>::from_json(const Json& json) {
  return json.is_null() ? RegularizerSpec() : RegularizerSpec(regularizer_table().from_json(json));
}

std::vector<ClassDoc> JsonType<RegularizerSpec>::classes() { return regularizer_table().docs(); }

}  // namespace systole::keras
