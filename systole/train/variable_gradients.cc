#include "systole/train/variable_gradients.h"

#include "systole/base/error.h"

namespace systole {

std::vector<Output> gradients(const std::vector<Output>& ys, const std::vector<Variable>& xs,
                              const GradientsOptions& options) {
  std::vector<Output> values;
  values.reserve(xs.size());
  for (const Variable& x : xs) values.push_back(x.value());
  return gradients(ys, values, options);
}

std::vector<GradientAndVariable> zip(const std::vector<Output>& gradients,
                                     const std::vector<Variable>& variables) {
  if (gradients.size() != variables.size()) {
    throw invalid_argument("zip: gradients, got {} for {} variables, expected one for each",
                           gradients.size(), variables.size());
  }
  std::vector<GradientAndVariable> pairs;
  pairs.reserve(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) pairs.push_back({gradients[i], variables[i]});
  return pairs;
}

}  // namespace systole
