#include <gtest/gtest.h>

#include "systole/backends/reference/reference_backend.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/builder.h"

namespace systole::reference {
namespace {

// main(x, y) -> (x + y, x), where the sum may replace x.
std::unique_ptr<hlo::Module> sum_module() {
  auto module = std::make_unique<hlo::Module>("sum");
  hlo::Computation& main = module->add_function("main");
  const hlo::Value x = main.add_parameter({DType::f32, {2}});
  const hlo::Value y = main.add_parameter({DType::f32, {2}});
  hlo::Builder b(main);
  main.set_results({b.add(x, y), x});
  module->aliases = {{0, 0}};
  return module;
}

TEST(ReferenceClient, UpdatesTheAliasedBufferAndReturnsTheOthers) {
  const auto client = make_client();
  const auto executable = client->compile(*sum_module());
  const auto x = client->buffer_from_host(Tensor::of<float>({2}, {1, 2}));
  const Tensor y = Tensor::of<float>({2}, {10, 20});
  Tensor old;
  executable->execute({{{.buffer = x.get(), .donate = true}, {.host = &y}}}, {{{}, {.host = &old}}})
      .wait();
  EXPECT_TRUE(x->to_host().identical(Tensor::of<float>({2}, {11, 22})));
  EXPECT_TRUE(old.identical(Tensor::of<float>({2}, {1, 2})));
}

TEST(ReferenceClient, ReusesTheMemoryOfAHostResult) {
  const auto client = make_client();
  const auto executable = client->compile(*sum_module());
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  Tensor sum(DType::f32, {2});
  const void* memory = sum.raw();
  executable->execute({{{.host = &x}, {.host = &x}}}, {{{.host = &sum}, {}}}).wait();
  EXPECT_EQ(sum.raw(), memory);
  EXPECT_TRUE(sum.identical(Tensor::of<float>({2}, {2, 4})));
}

// y is one value for all; x has a row for each replica.
TEST(ReferenceClient, RunsReplicas) {
  const auto client = make_client();
  const auto executable =
      client->compile(*sum_module(), {.num_replicas = 2, .replicated_parameters = {false, true}});
  const Tensor rows = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto x = client->buffer_from_host(rows);
  const Tensor y = Tensor::of<float>({2}, {10, 20});
  Tensor old;
  executable->execute({{{.buffer = x.get(), .donate = true}, {.host = &y}}}, {{{}, {.host = &old}}})
      .wait();
  EXPECT_TRUE(x->to_host().identical(Tensor::of<float>({2, 2}, {11, 22, 13, 24})));
  EXPECT_TRUE(old.identical(rows));
}

}  // namespace
}  // namespace systole::reference
