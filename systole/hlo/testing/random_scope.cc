#include "systole/hlo/testing/random_scope.h"

#include <algorithm>
#include <cmath>

namespace systole::hlo::testing {
namespace {

// Values with larger errors are used as results only.
double usable_error(DType dtype) { return size_of(dtype) <= 2 ? 0.5 : 0.02; }

constexpr double kSpecialNumbers[] = {0, -0.0, 1, -1, 2, 0.5, -0.25, 4};

// Small, and exact in every dtype.
double random_number(RandomScope& scope, DType dtype) {
  if (dtype == DType::pred) return static_cast<double>(scope.below(2));
  if (is_floating(dtype)) return static_cast<double>(scope.below(17) - 8) / 4;
  const bool is_signed = dtype_info(dtype).is_signed;
  return static_cast<double>(is_signed ? scope.below(9) - 4 : scope.below(5));
}

Tensor random_constant(RandomScope& scope, const TensorType& type) {
  Tensor result(type);
  visit_dtype(type.dtype, [&]<class T>() {
    for (T& element : result.data<T>()) {
      element = Tensor::full(type.dtype, {}, random_number(scope, type.dtype)).item<T>();
    }
  });
  return result;
}

void make_one(RandomScope& scope) {
  static const std::vector<Maker> kMakers = [] {
    std::vector<Maker> makers;
    for (const auto part :
         {elementwise_makers(), movement_makers(), contraction_makers(), control_flow_makers()}) {
      makers.insert(makers.end(), part.begin(), part.end());
    }
    return makers;
  }();
  int total = 0;
  for (const Maker& maker : kMakers) total += maker.weight;
  int64_t chosen = scope.below(total);
  for (const Maker& maker : kMakers) {
    chosen -= maker.weight;
    if (chosen < 0) return maker.make(scope);
  }
}

}  // namespace

double assumed_error(DType dtype) {
  if (!is_floating(dtype)) return 0;
  return size_of(dtype) <= 2 ? 0.125 : 1e-3;
}

double rounding(DType dtype, double bound) {
  if (!is_floating(dtype)) return 0;
  constexpr double kF16 = 1.0 / (1 << 9);
  constexpr double kBf16 = 1.0 / (1 << 6);
  constexpr double kF32 = 1.0 / (1 << 21);
  if (dtype == DType::f16) return bound * kF16;
  return bound * (dtype == DType::bf16 ? kBf16 : kF32);
}

void RandomScope::grow(int count) {
  const size_t end = pool_.size() + static_cast<size_t>(count);
  // Makers that do not apply add nothing.
  for (int tries = 0; pool_.size() < end && tries < 20 * count; ++tries) make_one(*this);
}

DType RandomScope::random_dtype() {
  const int64_t other = below(4);
  if (other == 0) return DType::s32;
  return other == 1 && chance(0.5) ? DType::pred : one_of(options_.dtypes);
}

DType RandomScope::random_floating() {
  std::vector<DType> floating;
  std::ranges::copy_if(options_.dtypes, std::back_inserter(floating), is_floating);
  return one_of(floating);
}

Shape RandomScope::random_shape() {
  Dims dims;
  for (int64_t rank = below(options_.max_rank + 1); rank > 0; --rank) {
    dims.push_back(1 + below(options_.max_dim));
  }
  return Shape(dims);
}

bool RandomScope::usable(const Entry& entry) const {
  return entry.error <= usable_error(entry.dtype()) && is_numeric(entry.dtype());
}

std::optional<Entry> RandomScope::find(const std::function<bool(const Entry&)>& wanted) {
  std::vector<const Entry*> found;
  for (const Entry& entry : pool_) {
    if (usable(entry) && wanted(entry)) found.push_back(&entry);
  }
  if (found.empty()) return std::nullopt;
  // The better of two choices.
  const auto count = static_cast<int64_t>(found.size());
  return *found[static_cast<size_t>(std::max(below(count), below(count)))];
}

Entry RandomScope::any() {
  const auto found = find([](const Entry&) { return true; });
  return found ? *found : leaf(random_type());
}

Entry RandomScope::real() {
  const auto found = find([](const Entry& e) { return e.dtype() != DType::pred; });
  return found ? *found : leaf({random_floating(), random_shape()});
}

Entry RandomScope::floating(double bound) {
  const auto found = find([](const Entry& e) { return is_floating(e.dtype()); });
  return tamed(found ? *found : leaf({random_floating(), random_shape()}), bound);
}

Entry RandomScope::floating_exact() {
  const auto found = find([](const Entry& e) { return is_floating(e.dtype()) && e.exact(); });
  return found ? *found : leaf({random_floating(), random_shape()});
}

Entry RandomScope::integer() {
  const auto found = find([](const Entry& e) { return is_integer(e.dtype()); });
  return found ? *found : leaf({DType::s32, random_shape()});
}

Entry RandomScope::pred() {
  const auto found = find([](const Entry& e) { return e.dtype() == DType::pred; });
  return found ? *found : leaf({DType::pred, random_shape()});
}

Entry RandomScope::scalar(DType dtype) { return of_type({dtype, {}}); }

Entry RandomScope::of_type(const TensorType& type) {
  return of_type(type, std::numeric_limits<double>::infinity(), usable_error(type.dtype));
}

Entry RandomScope::of_type(const TensorType& type, double bound, double error) {
  const auto found = find([&](const Entry& e) {
    const bool same_shape = e.shape() == type.shape || e.shape().rank() == 0;
    return e.dtype() == type.dtype && same_shape && e.error <= error;
  });
  Entry entry = found && !chance(0.2) ? *found : leaf(type);
  entry.value = builder.broadcast(entry.value, type.shape);
  return tamed(entry, bound);
}

Entry RandomScope::leaf(const TensorType& type) {
  const bool counts = type.shape.rank() > 0 && type.dtype != DType::pred;
  if (counts && chance(0.15)) {
    const int64_t axis = below(type.shape.rank());
    return {builder.iota(type, axis), static_cast<double>(type.shape[static_cast<int>(axis)]), 0};
  }
  constexpr double kLargest = 4;
  if (chance(0.5)) {
    const double number =
        is_floating(type.dtype) ? one_of(kSpecialNumbers) : random_number(*this, type.dtype);
    return {builder.splat(type, number), kLargest, 0};
  }
  return {builder.constant(random_constant(*this, type)), kLargest, 0};
}

Entry RandomScope::tamed(Entry entry, double bound) {
  if (!is_floating(entry.dtype()) || entry.bound <= bound) return entry;
  const TensorType scalar{entry.dtype(), {}};
  entry.value =
      builder.op(Opcode::clamp, {splat(scalar, -bound), entry.value, splat(scalar, bound)})
          ->result();
  entry.bound = bound;
  return entry;
}

Entry RandomScope::positive(Entry entry) {
  const Value magnitude = builder.unary(Opcode::abs, entry.value);
  entry.value = builder.add(magnitude, splat(entry.value.type(), 0.5));
  entry.bound += 0.5;
  entry.error += rounding(entry.dtype(), entry.bound);
  return entry;
}

}  // namespace systole::hlo::testing
