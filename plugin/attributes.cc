#include "plugin/objects.h"
#include "systole/pjrt_abi/struct_size.h"

namespace systole::plugin {

PJRT_NamedValue& Attributes::append(std::string name, PJRT_NamedValue_Type type) {
  const std::string& kept = *strings_.emplace_back(std::make_unique<std::string>(std::move(name)));
  auto value = pjrt_abi::make<PJRT_NamedValue>();
  value.name = kept.c_str();
  value.name_size = kept.size();
  value.type = type;
  value.value_size = 1;
  return values_.emplace_back(value);
}

void Attributes::add(std::string name, std::string value) {
  const std::string& kept = *strings_.emplace_back(std::make_unique<std::string>(std::move(value)));
  PJRT_NamedValue& named = append(std::move(name), PJRT_NamedValue_kString);
  named.string_value = kept.c_str();
  named.value_size = kept.size();
}

void Attributes::add(std::string name, int64_t value) {
  append(std::move(name), PJRT_NamedValue_kInt64).int64_value = value;
}

void Attributes::add(std::string name, float value) {
  append(std::move(name), PJRT_NamedValue_kFloat).float_value = value;
}

void Attributes::add(std::string name, std::vector<int64_t> value) {
  const auto& kept = *lists_.emplace_back(std::make_unique<std::vector<int64_t>>(std::move(value)));
  PJRT_NamedValue& named = append(std::move(name), PJRT_NamedValue_kInt64List);
  named.int64_array_value = kept.data();
  named.value_size = kept.size();
}

}  // namespace systole::plugin
