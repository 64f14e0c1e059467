#include "systole/session/feed_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace systole {
namespace {

bool is_fed_number(DType dtype) {
  return dtype == DType::pred || is_integer(dtype) || is_floating(dtype);
}

template <class T>
bool holds(DType dtype, T integer) {
  if (dtype == DType::pred) return integer == 0 || integer == 1;
  const DTypeInfo& info = dtype_info(dtype);
  const uint64_t highest = ~uint64_t{0} >> (64 - info.bits + (info.is_signed ? 1 : 0));
  const int64_t lowest = info.is_signed ? -static_cast<int64_t>(highest) - 1 : 0;
  return std::cmp_less_equal(integer, highest) && std::cmp_greater_equal(integer, lowest);
}

// A whole number in the range of 64-bit integers counts as an integer.
bool holds(DType dtype, double number) {
  if (number != std::trunc(number)) return false;
  if (number < 0) {
    return number >= -std::ldexp(1.0, 63) && holds(dtype, static_cast<int64_t>(number));
  }
  return number < std::ldexp(1.0, 64) && holds(dtype, static_cast<uint64_t>(number));
}

template <class T>
void check_holds(const Tensor& value, const Output& key) {
  for (const T element : value.data<T>()) {
    if (holds(key.dtype(), element)) continue;
    throw invalid_argument("Session.run: value fed to '{}', got {}, expected values of {}, {}",
                           key.name(), element, key.dtype(), key.node()->describe());
  }
}

// Converts `value` to integers that the dtype of `key`, an integer type or pred, can represent.
// Errors: INVALID_ARGUMENT for numbers that would wrap around or lose a fraction.
Tensor whole_numbers(const Tensor& value, const Output& key) {
  const DType from = value.dtype();
  const DType wide = is_floating(from) ? DType::f64 : from == DType::u64 ? from : DType::s64;
  Tensor numbers = from == wide ? value : value.cast(wide);
  switch (wide) {
    case DType::f64:
      check_holds<double>(numbers, key);
      // (f64 -> s64 would saturate from 2^63 on.)
      return key.dtype() == DType::u64 ? numbers.cast(DType::u64) : numbers.cast(DType::s64);
    case DType::u64:
      check_holds<uint64_t>(numbers, key);
      return numbers;
    default:
      check_holds<int64_t>(numbers, key);
      return numbers;
  }
}

// The common dtype: s64 for integers of two dtypes, u64 if one of them is.
DType dtype_of_both(DType a, DType b) {
  if (a == b) return a;
  if (!is_fed_number(a) || !is_fed_number(b)) {
    throw invalid_argument("feed: values of a list, got {} and {}, expected one dtype", a, b);
  }
  if (a == DType::pred) return b;
  if (b == DType::pred) return a;
  if (!is_integer(a) || !is_integer(b)) return DType::f64;
  return a == DType::u64 || b == DType::u64 ? DType::u64 : DType::s64;
}

// Converts `row` to the common dtype of the list.
Tensor row_as(const Tensor& row, DType dtype) {
  if (row.dtype() == dtype) return row;
  const bool may_be_negative = is_integer(row.dtype()) && dtype_info(row.dtype()).is_signed;
  for (int64_t i = 0; dtype == DType::u64 && may_be_negative && i < row.num_elements(); ++i) {
    if (row.as_double(i) >= 0) continue;
    throw invalid_argument("feed: values of a list, got {} and others of u64, expected one dtype",
                           row.as_double(i));
  }
  return row.cast(dtype);
}

}  // namespace

Tensor FeedValue::of(const Output& key) && {
  if (!converts_ || !key.valid()) return std::move(tensor_);
  const DType from = tensor_.dtype();
  const DType to = key.dtype();
  if (from == to || !is_fed_number(from) || !is_fed_number(to)) return std::move(tensor_);
  if (is_floating(to)) return tensor_.cast(to);
  const Tensor whole = whole_numbers(tensor_, key);
  return whole.dtype() == to ? whole : whole.cast(to);
}

FeedItem FeedItem::in(const Graph& graph) const {
  return named == nullptr ? *this : FeedItem(graph.tensor(named->name), named->value);
}

FeedValue FeedValue::stacked(const std::vector<FeedValue>& values) {
  // (Braces would call the constructor of lists.)
  if (values.empty()) return FeedValue(Tensor(DType::f32, {0}), /*converts=*/true);
  std::vector<Tensor> tensors;
  tensors.reserve(values.size());
  for (const FeedValue& value : values) tensors.push_back(value.tensor_);
  DType dtype = tensors.front().dtype();
  for (const Tensor& tensor : tensors) dtype = dtype_of_both(dtype, tensor.dtype());
  const Shape& shape = tensors.front().shape();
  Dims dims = {static_cast<int64_t>(values.size())};
  dims.insert(dims.end(), shape.begin(), shape.end());
  Tensor result(dtype, Shape(dims));
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].shape() != shape) {
      throw invalid_argument("feed: rows of a list, got sizes {} and {}, expected equal ones",
                             shape, tensors[i].shape());
    }
    const Tensor row = row_as(tensors[i], dtype);
    Tensor place = result.slice(static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
    if (dtype == DType::string) {
      std::ranges::copy(row.data<std::string>(), place.data<std::string>().begin());
    } else if (row.byte_size() > 0) {
      std::memcpy(place.raw(), row.raw(), static_cast<size_t>(row.byte_size()));
    }
  }
  const bool converts =
      std::ranges::all_of(values, [](const FeedValue& value) { return value.converts_; });
  return FeedValue(std::move(result), converts);
}

}  // namespace systole
