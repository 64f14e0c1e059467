#include "systole/runtime/run_replicas.h"

#include <cstring>

namespace systole::runtime {
namespace {

// Argument `p` of all replicas as one array.
Tensor stacked_argument(std::span<const std::vector<Tensor>> arguments, size_t p,
                        const TensorType& type) {
  Tensor all(type);
  for (size_t r = 0; r < arguments.size(); ++r) {
    const Tensor& own = arguments[r][p];
    if (own.byte_size() == 0) continue;
    Tensor place = all.slice(static_cast<int64_t>(r), static_cast<int64_t>(r) + 1);
    std::memcpy(place.raw(), own.raw(), static_cast<size_t>(own.byte_size()));
  }
  return all;
}

}  // namespace

std::vector<std::vector<Tensor>> run_replicas(Client& client, const hlo::Module& module,
                                              std::span<const std::vector<Tensor>> arguments,
                                              CompileOptions options) {
  options.num_replicas = static_cast<int>(arguments.size());
  const auto executable = client.compile(module, options);
  const hlo::Computation& main = module.entry();
  std::vector<Tensor> whole;
  for (size_t p = 0; p < executable->parameter_types().size(); ++p) {
    const TensorType& type = executable->parameter_types()[p];
    const bool once = type == main.parameter(static_cast<int>(p)).type();
    whole.push_back(once ? arguments[0][p] : stacked_argument(arguments, p, type));
  }
  const std::vector<Tensor> values = run(*executable, whole);
  std::vector<std::vector<Tensor>> results(arguments.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const TensorType& own = main.results()[k].type();
    for (size_t r = 0; r < results.size(); ++r) {
      const auto row = static_cast<int64_t>(r);
      const bool once = values[k].type() == own;
      results[r].push_back(once ? values[k] : values[k].slice(row, row + 1).reshape(own.shape));
    }
  }
  return results;
}

}  // namespace systole::runtime
