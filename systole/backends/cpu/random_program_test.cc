// Random programs: optimised, unoptimised and reference agree.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/backends/cpu/testing/programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;
using hlo::Value;

// Every float stays between -1 and 1, and no decision depends on one, so that rounding differences
// stay small.
class ProgramWriter {
 public:
  ProgramWriter(uint64_t seed, hlo::Computation& main) : random_(seed, 91), b_(main) {
    for (const Shape& shape : {Shape{4, 6}, Shape{6, 5}, Shape{24}, Shape{2, 3, 17}, Shape{}}) {
      floats_.push_back(main.add_parameter({DType::f32, shape}));
    }
  }

  void write(int steps) {
    for (int i = 0; i < steps; ++i) floats_.push_back(step());
    std::vector<Value> results;
    for (int i = 0; i < 4; ++i) results.push_back(pick());
    results.push_back(floats_.back());
    b_.computation().set_results(results);
  }

 private:
  int64_t below(int64_t n) {
    return static_cast<int64_t>(random_.next_below(static_cast<uint64_t>(n)));
  }
  // Recent values more often, so that long chains arise.
  Value pick() {
    const auto n = static_cast<int64_t>(floats_.size());
    return floats_[static_cast<size_t>(below(2) == 0 ? n - 1 - below(std::min<int64_t>(n, 4))
                                                     : below(n))];
  }
  Value half(Value x) { return b_.multiply(x, b_.splat_like(x, 0.5)); }
  // Another value, brought to the shape of `x` in some way.
  Value like(Value x) {
    for (int i = 0; i < 8; ++i) {
      const Value y = pick();
      if (y.shape() == x.shape()) return y;
      if (y.shape().num_elements() == x.shape().num_elements()) return b_.reshape(y, x.shape());
      if (y.shape().rank() == 0) return b_.broadcast(y, x.shape());
    }
    return b_.unary(Opcode::sine,
                    b_.convert(x.shape().rank() == 0
                                   ? b_.scalar(DType::s32, 3)
                                   : b_.iota({DType::s32, x.shape()}, below(x.shape().rank())),
                               DType::f32));
  }

  Value step() {
    const Value x = pick();
    switch (below(14)) {
      case 0:
        return b_.unary(Opcode::tanh, x);
      case 1:
        return b_.unary(below(2) == 0 ? Opcode::logistic : Opcode::sine, x);
      case 2:
        return b_.unary(below(2) == 0 ? Opcode::negate : Opcode::abs, x);
      case 3:
        return half(b_.add(x, like(x)));
      case 4:
        return b_.multiply(x, like(x));
      case 5:
        return b_.binary(below(2) == 0 ? Opcode::maximum : Opcode::minimum, x, like(x));
      case 6:
        return reduce(x);
      case 7:
        return spread(x);
      case 8:
        return transpose(x);
      case 9:
        return cut(x);
      case 10:
        return extend(x);
      case 11:
        return choose(x);
      case 12:
        return product(x);
      default:
        return update(x);
    }
  }

  Value reduce(Value x) {
    if (x.shape().rank() == 0) return b_.negate(x);
    const int64_t axis = below(x.shape().rank());
    if (below(2) == 0) return b_.reduce(x, Opcode::maximum, {axis});
    const Value sum = b_.reduce(x, Opcode::add, {axis});
    return b_.multiply(
        sum, b_.splat_like(sum, 1.0 / static_cast<double>(x.shape()[static_cast<int>(axis)])));
  }
  Value spread(Value x) {
    if (x.shape().rank() > 2 || x.shape().num_elements() > 100) return b_.negate(x);
    Dims sizes = x.shape().dims();
    const int64_t place = below(x.shape().rank() + 1);
    sizes.insert(sizes.begin() + place, 2 + below(4));
    Dims axes;
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      if (d != place) axes.push_back(d);
    }
    return b_.broadcast_in_dim(x, Shape(sizes), axes);
  }
  Value transpose(Value x) {
    Dims permutation;
    for (int64_t d = 0; d < x.shape().rank(); ++d)
      permutation.insert(permutation.begin() + below(d + 1), d);
    return below(3) == 0 && x.shape().rank() > 0 ? b_.reverse(x, {below(x.shape().rank())})
                                                 : b_.transpose(x, permutation);
  }
  Value cut(Value x) {
    if (x.shape().rank() == 0) return b_.unary(Opcode::abs, x);
    Dims start, limit, strides;
    for (const int64_t size : x.shape()) {
      start.push_back(below(size));
      limit.push_back(start.back() + 1 + below(size - start.back()));
      strides.push_back(1 + below(2));
    }
    return b_.slice(x, start, limit, strides);
  }
  Value extend(Value x) {
    if (x.shape().rank() == 0 || x.shape().num_elements() > 200) return b_.negate(x);
    if (below(2) == 0) {
      const Value parts[] = {x, half(x)};
      return b_.concatenate(parts, below(x.shape().rank()));
    }
    Dims low, high, interior;
    for (int d = 0; d < x.shape().rank(); ++d) {
      low.push_back(below(3) - (x.shape()[d] > 1 ? 1 : 0));
      high.push_back(below(3));
      interior.push_back(below(2));
    }
    return b_.pad(x, b_.scalar(DType::f32, 0.25), low, high, interior);
  }
  Value choose(Value x) {
    if (x.shape().rank() == 0) return b_.unary(Opcode::sine, x);
    const Value i = b_.iota({DType::s32, x.shape()}, below(x.shape().rank()));
    const Value two = b_.splat_like(i, 2);
    return b_.select(b_.compare(i, two, hlo::ComparisonDirection::lt), x, like(x));
  }
  Value product(Value x) {
    if (x.shape().rank() != 2) return b_.unary(Opcode::tanh, x);
    const int64_t contracted = x.shape()[1];
    const Value y = like(x);
    const Value r = b_.dot_general(x, y, {{}, {}, {1}, {1}});
    return b_.multiply(r, b_.splat_like(r, 1.0 / static_cast<double>(contracted)));
  }
  Value update(Value x) {
    if (x.shape().rank() == 0) return b_.unary(Opcode::logistic, x);
    Dims sizes;
    std::vector<Value> starts;
    for (const int64_t size : x.shape()) {
      sizes.push_back(1 + below(size));
      starts.push_back(b_.scalar(DType::s32, static_cast<double>(below(size + 2) - 1)));
    }
    const Value part = half(b_.dynamic_slice(like(x), starts, sizes));
    return b_.dynamic_update_slice(x, part, starts);
  }

  RandomStream random_;
  hlo::Builder b_;
  std::vector<Value> floats_;
};

TEST(RandomProgram, AgreesWithTheReference) {
  for (uint64_t seed = 0; seed < testing::number_of_programs(60); ++seed) {
    hlo::Module module;
    hlo::Computation& main = module.add_function("main");
    ProgramWriter(seed, main).write(6 + static_cast<int>(seed % 20));
    RandomStream random(seed, 92);
    std::vector<Tensor> arguments;
    for (int i = 0; i < main.num_parameters(); ++i) {
      arguments.push_back(testing::random_tensor(random, main.parameter(i).type(), -1, 1));
    }
    // Terms are at most about 1, and a single result may be what is left of a sum of such.
    const std::string difference =
        testing::check(module, arguments, {.ulps = 16, .of_largest = 4e-6, .absolute = 1e-7});
    EXPECT_EQ(difference, "") << "seed " << seed << "\n" << hlo::print(module);
  }
}

}  // namespace
}  // namespace systole::cpu
