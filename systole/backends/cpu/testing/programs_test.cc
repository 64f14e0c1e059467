#include "systole/backends/cpu/testing/programs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu::testing {
namespace {

using hlo::Opcode;
using hlo::Value;

Value matmul(hlo::Builder& b, Value x, Value y, int64_t x_contracted, int64_t y_contracted) {
  return b.dot_general(x, y, {{}, {}, {x_contracted}, {y_contracted}});
}

}  // namespace

uint64_t number_of_programs(uint64_t otherwise) {
  const char* const wanted = std::getenv("SYSTOLE_RANDOM_PROGRAMS");
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}

std::unique_ptr<hlo::Module> training_step(const TwoLayers& s) {
  auto module = std::make_unique<hlo::Module>("training_step");
  hlo::Computation& main = module->add_function("main");
  hlo::Builder b(main);
  const Value x = main.add_parameter({DType::f32, {s.batch, s.inputs}});
  const Value y = main.add_parameter({DType::f32, {s.batch, s.classes}});
  const Value w1 = main.add_parameter({DType::f32, {s.inputs, s.hidden}});
  const Value w2 = main.add_parameter({DType::f32, {s.hidden, s.classes}});
  const Value h = b.unary(Opcode::logistic, matmul(b, x, w1, 1, 0));
  const Value logits = matmul(b, h, w2, 1, 0);
  const auto along_rows = [&](Value v) { return b.broadcast_in_dim(v, logits.shape(), {0}); };
  const Value shifted = b.subtract(logits, along_rows(b.reduce(logits, Opcode::maximum, {1})));
  const Value e = b.unary(Opcode::exponential, shifted);
  const Value sum = b.reduce(e, Opcode::add, {1});
  const Value log_probability = b.subtract(shifted, along_rows(b.unary(Opcode::log, sum)));
  const double mean = 1.0 / static_cast<double>(s.batch);
  const Value total = b.reduce(b.multiply(y, log_probability), Opcode::add, {0, 1});
  const Value loss = b.multiply(b.negate(total), b.splat_like(total, mean));
  const Value probability = b.divide(e, along_rows(sum));
  const Value d_logits = b.multiply(b.subtract(probability, y), b.splat_like(logits, mean));
  const Value d_w2 = matmul(b, h, d_logits, 0, 0);
  const Value d_h = matmul(b, d_logits, w2, 1, 1);
  const Value d_pre = b.multiply(d_h, b.multiply(h, b.subtract(b.splat_like(h, 1), h)));
  const Value d_w1 = matmul(b, x, d_pre, 0, 0);
  const auto update = [&](Value w, Value gradient) {
    return b.subtract(w, b.multiply(gradient, b.splat_like(w, s.rate)));
  };
  main.set_results({update(w1, d_w1), update(w2, d_w2), loss});
  module->aliases = {{2, 0}, {3, 1}};
  return module;
}

TEST(Programs, TrainAStepLikeTheReference) {
  RandomStream random(61);
  for (const TwoLayers& s : {TwoLayers{}, TwoLayers{.batch = 7},
                             TwoLayers{.batch = 64, .inputs = 40, .hidden = 100, .classes = 10}}) {
    const std::vector<Tensor> arguments = {
        random_tensor(random, {DType::f32, {s.batch, s.inputs}}, 0, 2),
        random_tensor(random, {DType::f32, {s.batch, s.classes}}, 0, 1),
        random_tensor(random, {DType::f32, {s.inputs, s.hidden}}, -0.3, 0.3),
        random_tensor(random, {DType::f32, {s.hidden, s.classes}}, -0.3, 0.3)};
    EXPECT_EQ(check(*training_step(s), arguments, {.ulps = 4, .of_largest = 1e-6}), "");
  }
}

}  // namespace systole::cpu::testing
