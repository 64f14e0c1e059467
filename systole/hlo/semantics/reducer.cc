#include "systole/hlo/semantics/reducer.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "systole/hlo/ir/builder.h"
#include "systole/hlo/semantics/lifted_region.h"

namespace systole::hlo {
namespace {

template <class A>
struct Row {
  Opcode opcode;
  A (*combine)(A, A);
};

template <class A>
A wrapping(uint64_t bits) {
  return static_cast<A>(bits);
}

template <class A>
constexpr Row<A> kBitwiseRows[] = {
    {Opcode::and_, [](A a, A b) -> A { return a & b; }},
    {Opcode::or_, [](A a, A b) -> A { return a | b; }},
    {Opcode::xor_, [](A a, A b) -> A { return a ^ b; }},
    {Opcode::maximum, [](A a, A b) -> A { return a > b ? a : b; }},
    {Opcode::minimum, [](A a, A b) -> A { return a < b ? a : b; }},
    {Opcode::add,
     [](A a, A b) -> A {
       // On pred, add is `or` and multiply is `and`; signed overflow wraps.
       if constexpr (std::is_same_v<A, bool>) return a || b;
       return wrapping<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
     }},
    {Opcode::multiply,
     [](A a, A b) -> A {
       if constexpr (std::is_same_v<A, bool>) return a && b;
       return wrapping<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
     }},
};

// IEEE-754 maximum and minimum: NaN if either is NaN; -0 is below +0.
template <class A>
constexpr Row<A> kFloatRows[] = {
    {Opcode::add, [](A a, A b) { return a + b; }},
    {Opcode::multiply, [](A a, A b) { return a * b; }},
    {Opcode::maximum,
     [](A a, A b) {
       if (a > b || std::isnan(a)) return a;
       return a == b && !std::signbit(a) ? a : b;
     }},
    {Opcode::minimum,
     [](A a, A b) {
       if (a < b || std::isnan(a)) return a;
       return a == b && std::signbit(a) ? a : b;
     }},
};

template <class A>
constexpr Row<A> kComplexRows[] = {
    {Opcode::add, [](A a, A b) { return a + b; }},
    {Opcode::multiply, [](A a, A b) { return a * b; }},
};

template <class A>
std::span<const Row<A>> rows() {
  if constexpr (std::is_integral_v<A>) {
    return kBitwiseRows<A>;
  } else if constexpr (std::is_floating_point_v<A>) {
    return kFloatRows<A>;
  } else {
    return kComplexRows<A>;
  }
}

template <class T>
Tensor reduce_typed(Accumulator<T> (*combine)(Accumulator<T>, Accumulator<T>), const Tensor& input,
                    const Tensor& initial_value, const TensorType& type,
                    std::span<const int64_t> extents, const StridedView& from,
                    const StridedView& to, Rounding rounding) {
  using A = Accumulator<T>;
  Tensor result(type);
  const auto count = static_cast<size_t>(result.num_elements());
  const auto accumulators = std::make_unique_for_overwrite<A[]>(count);
  std::fill_n(accumulators.get(), count, convert_element<A>(initial_value.data<T>()[0]));
  const T* const elements = input.data<T>().data();
  for_each_row<2>(extents, {from, to}, [&](const auto& offsets, const auto& steps, int64_t n) {
    const T* x = elements + offsets[0];
    A* y = accumulators.get() + offsets[1];
    for (int64_t i = 0; i < n; ++i, x += steps[0], y += steps[1]) {
      *y = combine(*y, convert_element<A>(*x));
      if (rounding == Rounding::each_step) *y = convert_element<A>(convert_element<T>(*y));
    }
  });
  const std::span<T> out = result.data<T>();
  for (size_t i = 0; i < count; ++i) out[i] = convert_element<T>(accumulators[i]);
  return result;
}

// The inputs of each result, one row per step: [number of steps, number of results].
Tensor rows_of(const Tensor& input, int64_t num_results, std::span<const int64_t> extents,
               const StridedView& from, const StridedView& to) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  Tensor rows(input.dtype(), {count / num_results, num_results});
  std::vector<int64_t> filled(static_cast<size_t>(num_results), 0);
  for_each_row<2>(extents, {from, to}, [&](const auto& offsets, const auto& steps, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t target = offsets[1] + i * steps[1];
      const int64_t row = filled[target]++;
      copy_element(rows, row * num_results + target, input, offsets[0] + i * steps[0]);
    }
  });
  return rows;
}

// Up to this many rows are combined in order, as most implementations do, so that they round alike.
constexpr int64_t kMaxRowsInOrder = 1024;

// Combines neighbours until few rows are left. The specification leaves the tree open; with this
// one the region works on half of all elements at once.
std::vector<Tensor> combine_neighbours(const LiftedRegion& region, std::vector<Tensor> rows) {
  while (rows[0].dim(0) > kMaxRowsInOrder) {
    const int64_t num_pairs = rows[0].dim(0) / 2;
    std::vector<Tensor> arguments;
    for (const int64_t first : {0, 1}) {
      for (const Tensor& input : rows) {
        const int64_t width = input.dim(1);
        const StridedView from{.offset = first * width, .strides = {2 * width, 1}};
        arguments.emplace_back(input.dtype(), Shape{num_pairs, width});
        copy_strided(arguments.back(), view_of(arguments.back().shape()), input, from,
                     arguments.back().shape().dims());
      }
    }
    std::vector<Tensor> combined = region.apply(arguments);
    for (size_t k = 0; k < rows.size(); ++k) {
      const Tensor rest = rows[k].slice(2 * num_pairs, rows[k].dim(0));
      combined[k] = concatenated(std::vector<Tensor>{combined[k], rest}, 0);
    }
    rows = std::move(combined);
  }
  return rows;
}

std::vector<Tensor> reduce_by_region(const Instruction& instruction, const Evaluator& evaluator,
                                     std::span<const Tensor> inputs,
                                     std::span<const Tensor> initial_values,
                                     std::span<const int64_t> extents, const StridedView& from,
                                     const StridedView& to) {
  std::vector<Tensor> results;
  for (size_t k = 0; k < inputs.size(); ++k) {
    results.emplace_back(instruction.results()[k]);
    fill(results[k], initial_values[k]);
  }
  const int64_t num_results = instruction.shape().num_elements();
  if (num_results == 0 || inputs[0].num_elements() == 0) return results;
  const LiftedRegion region(instruction.region(), evaluator);
  std::vector<Tensor> rows;
  for (const Tensor& input : inputs) {
    rows.push_back(rows_of(input, num_results, extents, from, to));
  }
  rows = combine_neighbours(region, std::move(rows));
  for (Tensor& result : results) result = result.reshape({num_results});
  for (int64_t i = 0; i < rows[0].dim(0); ++i) {
    for (const Tensor& row : rows) results.push_back(row.slice(i, i + 1).reshape({num_results}));
    results = region.apply(results);
  }
  for (Tensor& result : results) result = result.reshape(instruction.shape());
  return results;
}

}  // namespace

template <class A>
A (*combiner_of(const Computation& region))
(A, A) {
  const std::optional<Opcode> opcode = match_reducer(region);
  if (!opcode) return nullptr;
  // Minimum and maximum compare the integers of quantized types; other ops need the scale.
  const bool compares = *opcode == Opcode::maximum || *opcode == Opcode::minimum;
  if (region.parameter(0).type().is_quantized() && !compares) return nullptr;
  for (const Row<A>& row : rows<A>()) {
    if (row.opcode == *opcode) return row.combine;
  }
  return nullptr;
}
template bool (*combiner_of(const Computation&))(bool, bool);
template int64_t (*combiner_of(const Computation&))(int64_t, int64_t);
template uint64_t (*combiner_of(const Computation&))(uint64_t, uint64_t);
template float (*combiner_of(const Computation&))(float, float);
template double (*combiner_of(const Computation&))(double, double);
template std::complex<float> (*combiner_of(const Computation&))(std::complex<float>,
                                                                std::complex<float>);
template std::complex<double> (*combiner_of(const Computation&))(std::complex<double>,
                                                                 std::complex<double>);

std::vector<Tensor> reduce_strided(const Instruction& instruction, const Evaluator& evaluator,
                                   std::span<const Tensor> inputs,
                                   std::span<const Tensor> initial_values,
                                   std::span<const int64_t> extents, const StridedView& from,
                                   const StridedView& to, Rounding rounding) {
  std::vector<Tensor> promoted;
  std::vector<Tensor> promoted_initial;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const DType dtype = instruction.results()[k].dtype;
    promoted.push_back(inputs[k].cast(dtype));
    promoted_initial.push_back(initial_values[k].cast(dtype));
  }
  // Collectives bring floats below 16 bits, which have no element type.
  if (inputs.size() == 1 && !is_small_float(instruction.dtype())) {
    const TensorType& type = instruction.type();
    Tensor result = visit_dtype(type.dtype, [&]<class T>() {
      const auto combine = combiner_of<Accumulator<T>>(instruction.region());
      if (combine == nullptr) return Tensor();
      return reduce_typed<T>(combine, promoted[0], promoted_initial[0], type, extents, from, to,
                             rounding);
    });
    if (result.valid()) return {result};
  }
  return reduce_by_region(instruction, evaluator, promoted, promoted_initial, extents, from, to);
}

Tensor element(const Tensor& tensor, int64_t offset) {
  Tensor scalar(tensor.dtype(), {});
  copy_element(scalar, 0, tensor, offset);
  return scalar;
}

void set_element(Tensor& tensor, int64_t offset, const Tensor& scalar) {
  copy_element(tensor, offset, scalar, 0);
}

void copy_element(Tensor& to, int64_t to_offset, const Tensor& from, int64_t from_offset) {
  const int64_t size = size_of(to.dtype());
  std::memcpy(static_cast<std::byte*>(to.raw()) + to_offset * size,
              static_cast<const std::byte*>(from.raw()) + from_offset * size,
              static_cast<size_t>(size));
}

}  // namespace systole::hlo
