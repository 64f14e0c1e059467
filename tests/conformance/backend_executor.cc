#include "tests/conformance/backend_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>

#include "systole/graph/testing/op_tester.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace systole::conformance {
namespace {

using graph_testing::Runner;

// 16-bit elements are rounded after every op on both sides, so the order of a sum changes at most
// one rounding.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return std::ldexp(1.0, -7);
    case DType::f16:
      return std::ldexp(1.0, -10);
    case DType::f32:
      return 1e-6;
    default:
      return 1e-14;
  }
}

double magnitude(const Tensor& tensor) {
  double largest = 1;
  for (int64_t k = 0; k < tensor.num_elements(); ++k) {
    const double x = std::abs(tensor.as_double(k));
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  return largest;
}

void expect_same(const Tensor& got, const Tensor& want) {
  if (is_complex(want.dtype())) {
    EXPECT_TRUE(got.identical(want)) << got.to_string() << "\nexpected\n" << want.to_string();
    return;
  }
  const double tolerance = tolerance_of(want.dtype());
  graph_testing::expect_close(got, want,
                              is_floating(want.dtype()) ? tolerance * magnitude(want) : 0);
}

}  // namespace

graph_testing::Executor backend_executor(std::string_view backend) {
  runtime::Client& client = runtime::client(backend);
  // Caches programs: compiling takes nearly all the time, and the checks of a row repeat some
  // programs.
  using Programs = std::unordered_map<std::string, std::shared_ptr<runtime::Executable>>;
  const auto programs = std::make_shared<Programs>();
  return [&client, programs](const hlo::Module& module) -> Runner {
    std::shared_ptr<runtime::Executable>& executable = (*programs)[hlo::print(module)];
    if (executable == nullptr) executable = client.compile(module);
    return [executable = executable, reference = graph_testing::evaluate_by_reference(module)](
               std::span<const Tensor> arguments) {
      std::vector<Tensor> values = runtime::run(*executable, arguments);
      const std::vector<Tensor> expected = reference(arguments);
      for (size_t i = 0; i < expected.size(); ++i) {
        SCOPED_TRACE(fmt::format("result {} beside the reference", i));
        expect_same(values[i], expected[i]);
      }
      return values;
    };
  };
}

}  // namespace systole::conformance
