#include "systole/io/wire/tensor_message.h"

#include <absl/container/flat_hash_map.h>

#include <bit>
#include <complex>
#include <cstring>

#include "systole/io/proto/graph.pb.h"

namespace systole {
namespace {

struct DTypeRow {
  DType dtype;
  tensorflow::DataType data_type;
};
constexpr DTypeRow kDTypes[] = {
    {DType::f32, tensorflow::DT_FLOAT},
    {DType::f64, tensorflow::DT_DOUBLE},
    {DType::s32, tensorflow::DT_INT32},
    {DType::u8, tensorflow::DT_UINT8},
    {DType::s16, tensorflow::DT_INT16},
    {DType::s8, tensorflow::DT_INT8},
    {DType::string, tensorflow::DT_STRING},
    {DType::c64, tensorflow::DT_COMPLEX64},
    {DType::s64, tensorflow::DT_INT64},
    {DType::pred, tensorflow::DT_BOOL},
    {DType::bf16, tensorflow::DT_BFLOAT16},
    {DType::u16, tensorflow::DT_UINT16},
    {DType::c128, tensorflow::DT_COMPLEX128},
    {DType::f16, tensorflow::DT_HALF},
    {DType::resource, tensorflow::DT_RESOURCE},
    {DType::u32, tensorflow::DT_UINT32},
    {DType::u64, tensorflow::DT_UINT64},
    {DType::s4, tensorflow::DT_INT4},
    {DType::u4, tensorflow::DT_UINT4},
    {DType::f8e5m2, tensorflow::DT_FLOAT8_E5M2},
    {DType::f8e4m3fn, tensorflow::DT_FLOAT8_E4M3FN},
};

constexpr int kReference = 100;
// The largest tensor that a few bytes of a message may describe.
constexpr int64_t kMaxElements = int64_t{1} << 26;

// Writes the typed field `values` into `out`, repeating the last.
template <class T, class Field, class Convert>
void fill(std::string_view what, const Field& values, Tensor& out, Convert&& convert) {
  const auto elements = out.data<T>();
  const auto count = static_cast<size_t>(values.size());
  if (count > elements.size()) {
    throw make_error(Code::data_loss, "{}: elements of {}, got {}, expected {}", what, out.type(),
                     count, elements.size());
  }
  for (size_t i = 0; i < count; ++i) elements[i] = convert(values[static_cast<int>(i)]);
  const T last = count > 0 ? elements[count - 1] : T{};
  std::fill(elements.begin() + static_cast<std::ptrdiff_t>(count), elements.end(), last);
}

// Pairs of parts.
template <class Real, class Field>
void fill_complex(std::string_view what, const Field& values, Tensor& out) {
  if (values.size() % 2 != 0) {
    throw make_error(Code::data_loss, "{}: parts of complex numbers, got {}, expected pairs", what,
                     values.size());
  }
  std::vector<std::complex<Real>> pairs;
  for (int i = 0; i < values.size(); i += 2) pairs.emplace_back(values[i], values[i + 1]);
  struct View {
    const std::vector<std::complex<Real>>& pairs;
    size_t size() const { return pairs.size(); }
    std::complex<Real> operator[](int i) const { return pairs[i]; }
  };
  fill<std::complex<Real>>(what, View{pairs}, out, [](std::complex<Real> v) { return v; });
}

void fill_typed(std::string_view what, const tensorflow::TensorProto& message, Tensor& out) {
  const auto integers = [&]<class T>() {
    fill<T>(what, message.int_val(), out, [](int32_t v) { return static_cast<T>(v); });
  };
  const auto bits = [&]<class T>() {
    fill<T>(what, message.half_val(), out,
            [](int32_t v) { return std::bit_cast<T>(static_cast<uint16_t>(v)); });
  };
  const auto same = [&]<class T>(const auto& field) {
    fill<T>(what, field, out, [](const auto& v) { return static_cast<T>(v); });
  };
  if (is_small_float(out.dtype())) {
    if (out.num_elements() == 0) return;
    throw unimplemented("{}: elements, got a list of {}, expected their bytes", what, out.dtype());
  }
  switch (out.dtype()) {
    case DType::f32:
      return same.template operator()<float>(message.float_val());
    case DType::f64:
      return same.template operator()<double>(message.double_val());
    case DType::s64:
      return same.template operator()<int64_t>(message.int64_val());
    case DType::u32:
      return same.template operator()<uint32_t>(message.uint32_val());
    case DType::u64:
      return same.template operator()<uint64_t>(message.uint64_val());
    case DType::pred:
      return same.template operator()<bool>(message.bool_val());
    case DType::string:
      return same.template operator()<std::string>(message.string_val());
    case DType::f16:
      return bits.template operator()<float16>();
    case DType::bf16:
      return bits.template operator()<bfloat16>();
    case DType::c64:
      return fill_complex<float>(what, message.scomplex_val(), out);
    case DType::c128:
      return fill_complex<double>(what, message.dcomplex_val(), out);
    default:
      return visit_dtype(out.dtype(), [&]<class T>() {
        if constexpr (std::is_convertible_v<int32_t, T> && !std::is_same_v<T, bool>) {
          integers.template operator()<T>();
        }
      });
  }
}

// Returns whether all elements have the bits of the first.
bool is_fill(const Tensor& tensor) {
  const auto size = static_cast<size_t>(size_of(tensor.dtype()));
  const auto* bytes = static_cast<const char*>(tensor.raw());
  const auto total = static_cast<size_t>(tensor.byte_size());
  return total > size && std::memcmp(bytes, bytes + size, total - size) == 0;
}

void strings_to_message(const Tensor& tensor, tensorflow::TensorProto& message) {
  for (const std::string& element : tensor.data<std::string>()) message.add_string_val(element);
}

}  // namespace

DType dtype_from_message(int data_type) {
  const int plain = data_type > kReference ? data_type - kReference : data_type;
  for (const DTypeRow& row : kDTypes) {
    if (row.data_type == plain) return row.dtype;
  }
  return DType::invalid;
}

int dtype_to_message(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return row.data_type;
  }
  throw invalid_argument("TensorFlow: dtype, got {}, expected one that TensorFlow has", dtype);
}

std::string data_type_name(int data_type) {
  const std::string& name = tensorflow::DataType_Name(static_cast<tensorflow::DataType>(data_type));
  return name.empty() ? fmt::format("DT_{}", data_type) : name;
}

std::optional<Shape> shape_from_message(std::string_view what,
                                        const tensorflow::TensorShapeProto& message) {
  if (message.unknown_rank()) return std::nullopt;
  Dims dims;
  for (const auto& dim : message.dim()) {
    if (dim.size() < kUnknown) {
      throw make_error(Code::data_loss, "{}: shape, got a dimension of {}, expected at least -1",
                       what, dim.size());
    }
    dims.push_back(dim.size());
  }
  return Shape(std::move(dims));
}

void shape_to_message(const Shape& shape, tensorflow::TensorShapeProto& message) {
  for (const int64_t size : shape) message.add_dim()->set_size(size);
}

Tensor tensor_from_message(std::string_view what, const tensorflow::TensorProto& message) {
  const DType dtype = dtype_from_message(message.dtype());
  if (dtype == DType::invalid || dtype == DType::resource) {
    throw unimplemented("{}: dtype, got {}, expected numbers or strings", what,
                        data_type_name(message.dtype()));
  }
  const auto shape = shape_from_message(what, message.tensor_shape());
  if (!shape || !shape->is_static()) {
    throw make_error(Code::data_loss, "{}: shape of a tensor, got an unknown one, expected sizes",
                     what);
  }
  const int64_t count = shape->num_elements();
  const std::string& content = message.tensor_content();
  if (content.empty() || dtype == DType::string) {
    if (count > kMaxElements) {
      throw make_error(Code::data_loss,
                       "{}: shape of a tensor, got {}, expected at most {} elements", what, *shape,
                       kMaxElements);
    }
    Tensor result(dtype, *shape);
    fill_typed(what, message, result);
    return result;
  }
  const auto expected = static_cast<size_t>(count) * static_cast<size_t>(size_of(dtype));
  // More elements than bytes: `expected` may have overflowed.
  if (content.size() != expected || static_cast<uint64_t>(count) > content.size()) {
    throw make_error(Code::data_loss, "{}: content of a tensor, got {} bytes, expected {} for {}",
                     what, content.size(), expected, TensorType{dtype, *shape});
  }
  Tensor result(dtype, *shape);
  std::memcpy(result.raw(), content.data(), content.size());
  if (dtype == DType::pred) {  // any other bits are no bool
    auto* bytes = static_cast<unsigned char*>(result.raw());
    for (size_t i = 0; i < expected; ++i) bytes[i] = static_cast<unsigned char>(content[i] != 0);
  }
  return result;
}

void tensor_to_message(const Tensor& tensor, tensorflow::TensorProto& message) {
  message.set_dtype(static_cast<tensorflow::DataType>(dtype_to_message(tensor.dtype())));
  shape_to_message(tensor.shape(), *message.mutable_tensor_shape());
  if (tensor.dtype() == DType::string) return strings_to_message(tensor, message);
  if (tensor.num_elements() == 0) return;
  const bool one = tensor.num_elements() == 1 || is_fill(tensor);
  // Uses the typed fields that TensorFlow reads for a single number, and bytes otherwise.
  if (one && tensor.dtype() == DType::f32) return message.add_float_val(tensor.data<float>()[0]);
  if (one && tensor.dtype() == DType::f64) return message.add_double_val(tensor.data<double>()[0]);
  if (one && tensor.dtype() == DType::s32) return message.add_int_val(tensor.data<int32_t>()[0]);
  if (one && tensor.dtype() == DType::s64) return message.add_int64_val(tensor.data<int64_t>()[0]);
  if (one && tensor.dtype() == DType::pred) return message.add_bool_val(tensor.data<bool>()[0]);
  message.set_tensor_content(tensor.raw(), static_cast<size_t>(tensor.byte_size()));
}

}  // namespace systole
