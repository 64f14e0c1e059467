#include "systole/hlo/testing/random_scope.h"

namespace systole::hlo::testing {
namespace {

void make_exact_unary(RandomScope& scope) {
  constexpr Opcode kSigns[] = {Opcode::negate, Opcode::abs};
  constexpr Opcode kSteps[] = {Opcode::ceil, Opcode::floor, Opcode::round_nearest_afz,
                               Opcode::round_nearest_even, Opcode::sign};
  if (scope.chance(0.5)) {
    const Entry x = scope.floating();
    scope.add(scope.builder.unary(scope.one_of(kSigns), x.value), x.bound, x.error);
  } else {
    const Entry x = scope.floating_exact();
    scope.add(scope.builder.unary(scope.one_of(kSteps), x.value), x.bound + 1, 0);
  }
}

// A function with a bounded slope on [-domain, domain], or on [0.5, domain + 0.5].
struct Smooth {
  Opcode opcode;
  bool positive;
  double domain;
  double slope;
  double bound;
};
constexpr Smooth kSmooth[] = {
    {Opcode::tanh, false, 8, 1, 1},
    {Opcode::logistic, false, 8, 0.25, 1},
    {Opcode::sine, false, 8, 1, 1},
    {Opcode::cosine, false, 8, 1, 1},
    {Opcode::tan, false, 1, 3.5, 1.6},
    {Opcode::exponential, false, 3, 20.1, 20.1},
    {Opcode::exponential_minus_one, false, 3, 20.1, 20.1},
    {Opcode::log, true, 8, 2, 2.2},
    {Opcode::log_plus_one, true, 8, 1, 2.3},
    {Opcode::sqrt, true, 8, 0.71, 3},
    {Opcode::rsqrt, true, 8, 1.5, 1.5},
    {Opcode::cbrt, true, 8, 0.6, 2.1},
};

void make_transcendental(RandomScope& scope) {
  if (!scope.options().transcendental) return;
  const Smooth f = scope.one_of(kSmooth);
  Entry x = scope.floating(f.domain);
  if (f.positive) x = scope.positive(x);
  scope.add(scope.builder.unary(f.opcode, x.value), f.bound,
            x.error * f.slope + rounding(x.dtype(), f.bound));
}

void add_sum(RandomScope& scope, Opcode opcode, const Entry& x, const Entry& y) {
  const double bound = x.bound + y.bound;
  scope.add(scope.builder.binary(opcode, x.value, y.value), bound,
            x.error + y.error + rounding(x.dtype(), bound));
}

void add_product(RandomScope& scope, const Entry& x, const Entry& y) {
  const double bound = x.bound * y.bound;
  scope.add(scope.builder.multiply(x.value, y.value), bound,
            x.error * y.bound + y.error * x.bound + rounding(x.dtype(), bound));
}

void add_quotient(RandomScope& scope, const Entry& x, const Entry& y) {
  const Entry divisor = scope.positive(y);
  const double bound = 2 * x.bound;
  scope.add(scope.builder.divide(x.value, divisor.value), bound,
            2 * x.error + 4 * x.bound * divisor.error + rounding(x.dtype(), bound));
}

// Division by a constant, sometimes a power of two.
void make_quotient_of_constant(RandomScope& scope) {
  constexpr double kDivisors[] = {2, -0.5, 3, -1, 1, 8};
  const Entry x = scope.floating();
  const Value divisor = scope.splat(x.value.type(), scope.one_of(kDivisors));
  const double bound = 2 * x.bound;
  scope.add(scope.builder.divide(x.value, divisor), bound,
            2 * x.error + rounding(x.dtype(), bound));
}

void make_binary_floating(RandomScope& scope) {
  constexpr Opcode kExtremes[] = {Opcode::maximum, Opcode::minimum};
  const Entry x = scope.floating();
  const Entry y = scope.of_type(x.value.type(), kTameBound, 1);
  switch (scope.below(6)) {
    case 0:
      return add_sum(scope, Opcode::add, x, y);
    case 1:
      return add_sum(scope, Opcode::subtract, x, y);
    case 2:
      return add_sum(scope, Opcode::add, y, x);
    case 3:
      return add_quotient(scope, x, y);
    case 4:
      return scope.add(scope.builder.binary(scope.one_of(kExtremes), x.value, y.value),
                       std::max(x.bound, y.bound), std::max(x.error, y.error));
    default:
      return add_product(scope, x, y);
  }
}

// x ** y and atan2(y, x) for x > 0.
void make_binary_transcendental(RandomScope& scope) {
  if (!scope.options().transcendental) return;
  constexpr double kDomain = 2;
  const Entry x = scope.positive(scope.floating(kDomain));
  const Entry y = scope.of_type(x.value.type(), kDomain, 1);
  if (scope.chance(0.5)) {
    scope.add(scope.builder.binary(Opcode::power, x.value, y.value), 6.3,
              5 * x.error + 5.8 * y.error + rounding(x.dtype(), 6.3));
  } else {
    scope.add(scope.builder.binary(Opcode::atan2, y.value, x.value), 1.6,
              2 * (x.error + y.error) + rounding(x.dtype(), 1.6));
  }
}

void make_remainder(RandomScope& scope) {
  const Entry x = scope.floating_exact();
  const Value divisor = scope.splat(x.value.type(), scope.chance(0.5) ? 1.5 : -1);
  scope.add(scope.builder.binary(Opcode::remainder, x.value, divisor), 1.5, 0);
}

void make_integer_unary(RandomScope& scope) {
  constexpr Opcode kAny[] = {Opcode::not_, Opcode::popcnt, Opcode::count_leading_zeros,
                             Opcode::negate};
  constexpr Opcode kSigned[] = {Opcode::abs, Opcode::sign};
  const Entry x = scope.integer();
  const bool use_signed = dtype_info(x.dtype()).is_signed && scope.chance(0.4);
  scope.add(scope.builder.unary(use_signed ? scope.one_of(kSigned) : scope.one_of(kAny), x.value),
            0, 0);
}

void make_integer_binary(RandomScope& scope) {
  constexpr Opcode kAny[] = {Opcode::add,     Opcode::subtract, Opcode::multiply,  Opcode::maximum,
                             Opcode::minimum, Opcode::divide,   Opcode::remainder, Opcode::and_,
                             Opcode::or_,     Opcode::xor_};
  constexpr Opcode kShifts[] = {Opcode::shift_left, Opcode::shift_right_logical,
                                Opcode::shift_right_arithmetic};
  const Entry x = scope.integer();
  if (scope.chance(0.2)) {
    const Value amount = scope.splat(x.value.type(), static_cast<double>(scope.below(4)));
    scope.add(scope.builder.binary(scope.one_of(kShifts), x.value, amount), 0, 0);
    return;
  }
  const Entry y = scope.of_type(x.value.type());
  const bool swapped = scope.chance(0.3);
  scope.add(scope.builder.binary(scope.one_of(kAny), swapped ? y.value : x.value,
                                 swapped ? x.value : y.value),
            0, 0);
}

void make_logical(RandomScope& scope) {
  constexpr Opcode kBinary[] = {Opcode::and_, Opcode::or_, Opcode::xor_};
  const Entry x = scope.pred();
  if (scope.chance(0.3)) {
    scope.add(scope.builder.unary(Opcode::not_, x.value), 0, 0);
  } else {
    const Entry y = scope.of_type(x.value.type());
    scope.add(scope.builder.binary(scope.one_of(kBinary), x.value, y.value), 0, 0);
  }
}

void make_compare(RandomScope& scope) {
  const auto direction = static_cast<ComparisonDirection>(scope.below(6));
  const int64_t kind = scope.below(5);
  const Entry x = kind < 2 ? scope.floating_exact() : kind < 4 ? scope.integer() : scope.pred();
  if (is_floating(x.dtype()) && scope.chance(0.2)) {
    scope.add(scope.builder.unary(Opcode::is_finite, x.value), 0, 0);
    return;
  }
  const Entry y = scope.of_type(x.value.type(), 1e9, 0);
  scope.add(scope.builder.compare(x.value, y.value, direction), 0, 0);
}

void make_select(RandomScope& scope) {
  const Entry x = scope.any();
  const Entry y = scope.of_type(x.value.type());
  const Shape shape = scope.chance(0.3) ? Shape{} : x.shape();
  const Entry p = scope.of_type({DType::pred, shape});
  scope.add(scope.builder.select(p.value, x.value, y.value), std::max(x.bound, y.bound),
            std::max(x.error, y.error));
}

void make_clamp(RandomScope& scope) {
  const Entry x = scope.real();
  const TensorType bound{x.dtype(), scope.chance(0.5) ? Shape{} : x.shape()};
  const Entry low = scope.of_type(bound);
  const Entry high = scope.of_type(bound);
  scope.add(scope.builder.op(Opcode::clamp, {low.value, x.value, high.value})->result(),
            std::max({x.bound, low.bound, high.bound}), std::max({x.error, low.error, high.error}));
}

void make_convert_to_floating(RandomScope& scope) {
  const DType to = scope.random_floating();
  Entry x = scope.any();
  if (is_integer(x.dtype())) {
    x.value = scope.builder.binary(Opcode::remainder, x.value, scope.splat(x.value.type(), 7));
    x.bound = 6;
  } else if (x.dtype() == DType::pred) {
    x.bound = 1;
  }
  const bool narrows = is_floating(x.dtype()) && size_of(to) < size_of(x.dtype());
  // Rounding an exact value is exact.
  const double rounded = narrows && !x.exact() ? rounding(to, x.bound) : 0;
  scope.add(scope.builder.convert(x.value, to), x.bound, x.error + rounded);
}

void make_convert_to_exact(RandomScope& scope) {
  const Entry x = scope.chance(0.5) ? scope.floating_exact()
                                    : (scope.chance(0.5) ? scope.integer() : scope.pred());
  scope.add(scope.builder.convert(x.value, scope.chance(0.7) ? DType::s32 : DType::pred), 0, 0);
}

void make_reduce_precision(RandomScope& scope) {
  const Entry x = scope.floating_exact();
  scope.add(
      scope.builder.op(Opcode::reduce_precision, {x.value}, ReducePrecisionAttrs{5, 4})->result(),
      x.bound * 1.1, 0);
}

constexpr Maker kRandomElementwiseMakers[] = {
    {6, make_exact_unary},
    {8, make_transcendental},
    {14, make_binary_floating},
    {2, make_binary_transcendental},
    {2, make_quotient_of_constant},
    {1, make_remainder},
    {2, make_integer_unary},
    {6, make_integer_binary},
    {4, make_logical},
    {4, make_compare},
    {4, make_select},
    {2, make_clamp},
    {5, make_convert_to_floating},
    {2, make_convert_to_exact},
    {1, make_reduce_precision},
};

}  // namespace

std::span<const Maker> elementwise_makers() { return kRandomElementwiseMakers; }

}  // namespace systole::hlo::testing
