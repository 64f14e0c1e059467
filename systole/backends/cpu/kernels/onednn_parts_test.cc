// Products in parts, again and again, in memory that holds NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "systole/backends/cpu/kernels/sizes.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

struct ProductSizes {
  int64_t m, k, n;
};

// The sums in double precision.
void expect_product(const Tensor& got, const std::vector<Tensor>& arguments) {
  const int64_t m = arguments[0].dim(0);
  const int64_t k = arguments[0].dim(1);
  const int64_t n = arguments[1].dim(1);
  const auto a = arguments[0].data<float>();
  const auto b = arguments[1].data<float>();
  double worst = 0;
  for (int64_t i = 0; i < m * n; ++i) {
    double sum = 0;
    for (int64_t d = 0; d < k; ++d)
      sum += static_cast<double>(a[u(i / n * k + d)]) * static_cast<double>(b[u(d * n + i % n)]);
    const double error = std::abs(static_cast<double>(got.data<float>()[u(i)]) - sum);
    worst = error <= worst ? worst : error;  // NaN too
  }
  EXPECT_LE(worst, 1e-3) << testing::words(m, k, n);
}

TEST(OnednnParts, EachRunGivesTheProduct) {
  RandomStream random(3);
  for (const auto [m, k, n] : {ProductSizes{20, 3136, 128}, ProductSizes{20, 3136, 1024},
                               ProductSizes{100, 3136, 128}, ProductSizes{64, 1500, 65}}) {
    const auto module = hlo::parse(fmt::format(R"(
      func.func public @main(%a: tensor<{0}x{1}xf32>, %b: tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32> {{
        %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{0}x{1}xf32>, tensor<{1}x{2}xf32>) -> tensor<{0}x{2}xf32>
        return %r : tensor<{0}x{2}xf32>
      }})",
                                               m, k, n));
    const std::vector<Tensor> arguments = {
        testing::random_tensor(random, {DType::f32, {m, k}}, -1, 1),
        testing::random_tensor(random, {DType::f32, {k, n}}, -1, 1)};
    const Tensor want = testing::run(*module, arguments, {.num_threads = 1})[0];
    expect_product(want, arguments);
    const auto executable = testing::client().compile(*module, {.num_threads = 2});
    const std::vector<runtime::Argument> inputs = {{.host = &arguments[0]},
                                                   {.host = &arguments[1]}};
    for (int i = 0; i < 50; ++i) {
      Tensor got = Tensor::full(DType::f32, {m, n}, std::numeric_limits<double>::quiet_NaN());
      const std::vector<runtime::Result> results = {{.host = &got}};
      executable->execute(inputs, results).wait();
      ASSERT_TRUE(got.identical(want)) << testing::words(m, k, n, "run", i);
    }
  }
}

}  // namespace
}  // namespace systole::cpu
