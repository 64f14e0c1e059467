#include "systole/estimator/evaluation.h"

#include <ostream>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/number_text.h"
#include "systole/base/suggest.h"

namespace systole {

double Evaluation::operator[](std::string_view name) const {
  const Tensor& value = tensor(name);
  if (value.num_elements() != 1) {
    throw invalid_argument("evaluation['{}']: metric, got {}, expected a scalar; see tensor()",
                           name, value.type());
  }
  return value.as_double(0);
}

const Tensor& Evaluation::tensor(std::string_view name) const {
  const auto it = values_.find(name);
  if (it != values_.end()) return it->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : values_) names.push_back(known);
  throw not_found("evaluation: metric '{}', got none, expected one of: {}{}", name, to_string(),
                  did_you_mean(std::string(name), names));
}

std::string Evaluation::to_string() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    text += text.empty() ? "" : ", ";
    text += value.num_elements() == 1 ? fmt::format("{} = {}", name, number_text(value))
                                      : fmt::format("{} = {}", name, value.to_string());
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation) {
  return out << evaluation.to_string();
}

}  // namespace systole
