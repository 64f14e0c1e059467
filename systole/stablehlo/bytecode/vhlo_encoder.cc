#include "systole/stablehlo/bytecode/vhlo_encoder.h"

#include <algorithm>
#include <bit>

#include "systole/base/error.h"
#include "systole/base/quantized_type.h"
#include "systole/stablehlo/bytecode/element_types.h"

namespace systole::hlo::bytecode {
namespace {

constexpr std::string_view kVhlo = "vhlo";
constexpr std::string_view kBuiltin = "builtin";

Encoding code(VhloAttr attribute) {
  return std::move(Encoding().varint(static_cast<uint64_t>(attribute)));
}
Encoding code(VhloType type) { return std::move(Encoding().varint(static_cast<uint64_t>(type))); }
Encoding code(BuiltinAttr attribute) {
  return std::move(Encoding().varint(static_cast<uint64_t>(attribute)));
}

void append_list(Encoding& encoding, std::span<const int64_t> values) {
  encoding.varint(values.size());
  for (const int64_t value : values) encoding.signed_varint(value);
}

// Numbers of at most 8 bits are a byte, others a varint.
void append_number(Encoding& encoding, int bytes, uint64_t bits) {
  if (bytes == 1) {
    encoding.byte(static_cast<uint8_t>(bits));
  } else {
    encoding.signed_varint(static_cast<int64_t>(bits));
  }
}

std::string_view bytes_of(const Tensor& value) {
  return {static_cast<const char*>(value.raw()), static_cast<size_t>(value.byte_size())};
}

bool has_equal_elements(std::string_view bytes, size_t element) {
  return bytes.size() > element && bytes.substr(element) == bytes.substr(0, bytes.size() - element);
}

// Eight to a byte; one byte of ones or zeros if all are equal.
std::string pack_bits(std::string_view bytes) {
  if (has_equal_elements(bytes, 1)) return {bytes[0] != 0 ? '\xFF' : '\0'};
  std::string packed((bytes.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != 0) packed[i / 8] = static_cast<char>(packed[i / 8] | (1 << (i % 8)));
  }
  return packed;
}

}  // namespace

AttrId VhloEncoder::array(std::span<const AttrId> elements) {
  Encoding encoding = code(VhloAttr::array);
  encoding.varint(elements.size());
  for (const AttrId element : elements) encoding.attribute(element);
  return tables_.attribute(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::boolean(bool value) { return enumerator(VhloAttr::boolean, value ? 1 : 0); }

AttrId VhloEncoder::enumerator(VhloAttr kind, uint64_t value) {
  return tables_.attribute(kVhlo, std::move(code(kind).varint(value)));
}

AttrId VhloEncoder::dictionary(std::vector<std::pair<std::string, AttrId>> entries) {
  std::ranges::sort(entries, {}, &std::pair<std::string, AttrId>::first);
  Encoding encoding = code(VhloAttr::dictionary);
  encoding.varint(entries.size());
  for (const auto& [name, value] : entries) encoding.attribute(string(name)).attribute(value);
  return tables_.attribute(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::number(std::string_view type, uint64_t bits) {
  const TypeId id = element(type);
  const bool integer = type == "index" || type[0] == 'i' || type[0] == 'u';
  Encoding encoding = code(integer ? VhloAttr::integer : VhloAttr::floating);
  encoding.type(id);
  append_number(encoding, element_type(type)->bytes, bits);
  return tables_.attribute(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::string(std::string_view value) {
  return tables_.attribute(kVhlo, std::move(code(VhloAttr::string).varint(tables_.string(value))));
}

AttrId VhloEncoder::tensor(const Tensor& value, std::string_view element_name) {
  const std::string_view bytes = bytes_of(value);
  const auto element = static_cast<size_t>(size_of(value.dtype()));
  std::string packed;
  std::string_view stored = bytes;
  if (value.dtype() == DType::pred) {
    stored = packed = pack_bits(bytes);
  } else if (has_equal_elements(bytes, element)) {
    stored = bytes.substr(0, element);
  }
  Encoding encoding = code(VhloAttr::tensor);
  encoding.type(type(value.type(), element_name)).varint(stored.size()).bytes(stored);
  return tables_.attribute(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::splat(const Tensor& element, const TensorType& tensor_type) {
  const std::string packed(1, bytes_of(element)[0] != 0 ? '\xFF' : '\0');
  const bool bits = element.dtype() == DType::pred && tensor_type.shape.num_elements() > 1;
  const std::string_view stored = bits ? std::string_view(packed) : bytes_of(element);
  Encoding encoding = code(VhloAttr::tensor);
  encoding.type(type(tensor_type)).varint(stored.size()).bytes(stored);
  return tables_.attribute(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::integers(std::span<const int64_t> values) {
  return tensor(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

AttrId VhloEncoder::type_attribute(TypeId type) {
  return tables_.attribute(kVhlo, std::move(code(VhloAttr::type).type(type)));
}

AttrId VhloEncoder::output_operand_alias(std::span<const int64_t> outputs, int64_t operand,
                                         std::span<const int64_t> operands) {
  Encoding encoding = code(VhloAttr::output_operand_alias);
  append_list(encoding, outputs);
  encoding.signed_varint(operand);
  append_list(encoding, operands);
  return tables_.attribute(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::default_accuracy() {
  Encoding encoding = code(VhloAttr::result_accuracy);
  encoding.signed_varint(0).signed_varint(0).signed_varint(0);  // atol and rtol of 0.0, ulps
  encoding.attribute(enumerator(VhloAttr::result_accuracy_mode, 0));
  return tables_.attribute(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::none() { return type_attribute(none_type()); }

TypeId VhloEncoder::type(const TensorType& type, std::string_view element_name) {
  if (type.dtype == DType::token) return tables_.type(kVhlo, code(VhloType::token));
  const std::string_view name =
      element_name.empty() ? dtype_info(type.dtype).mlir_name : element_name;
  TypeId part{};
  if (type.is_quantized()) {
    part = quantized(type.dtype, *type.quantized);
  } else if (is_complex(type.dtype)) {
    part = tables_.type(
        kVhlo,
        std::move(
            code(VhloType::complex).type(element(dtype_info(real_dtype(type.dtype)).mlir_name))));
  } else {
    part = element(name);
  }
  Encoding encoding = code(VhloType::tensor);
  append_list(encoding, std::vector<int64_t>(type.shape.begin(), type.shape.end()));
  return tables_.type(kVhlo, std::move(encoding.type(part)));
}

// The storage type has no sign; the flags tell it.
TypeId VhloEncoder::quantized(DType storage, const QuantizedType& type) {
  const DTypeInfo& info = dtype_info(storage);
  const auto append_scale = [](Encoding& encoding, double scale) {
    encoding.signed_varint(std::bit_cast<int64_t>(scale));
  };
  Encoding encoding = code(type.per_axis() ? VhloType::quantized_per_axis : VhloType::quantized);
  encoding.varint(info.is_signed ? 1 : 0)
      .type(element(fmt::format("i{}", info.bits)))
      .type(element(dtype_info(type.expressed).mlir_name));
  if (!type.per_axis()) {
    append_scale(encoding, type.scales[0]);
    encoding.signed_varint(type.zero_points[0]);
    encoding.signed_varint(type.storage_min).signed_varint(type.storage_max);
    return tables_.type(kVhlo, std::move(encoding));
  }
  encoding.varint(static_cast<uint64_t>(type.axis));
  encoding.signed_varint(type.storage_min).signed_varint(type.storage_max);
  encoding.varint(type.scales.size());
  for (const double scale : type.scales) append_scale(encoding, scale);
  append_list(encoding, type.zero_points);
  return tables_.type(kVhlo, std::move(encoding));
}

TypeId VhloEncoder::element(std::string_view name) {
  const ElementType* found = element_type(name);
  if (found == nullptr)
    throw invalid_argument("bytecode: element type, got '{}', expected one of StableHLO", name);
  if (version_ < found->since) {
    throw unimplemented(
        "bytecode: element type, got {}, which VHLO has since {}, expected one of VHLO {}", name,
        found->since.to_string(), version_.to_string());
  }
  return tables_.type(kVhlo, std::move(Encoding().varint(found->code)));
}

TypeId VhloEncoder::none_type() { return tables_.type(kVhlo, code(VhloType::none)); }

TypeId VhloEncoder::tuple(std::span<const TypeId> elements) {
  Encoding encoding = code(VhloType::tuple);
  encoding.varint(elements.size());
  for (const TypeId element : elements) encoding.type(element);
  return tables_.type(kVhlo, std::move(encoding));
}

TypeId VhloEncoder::function(std::span<const TypeId> inputs, std::span<const TypeId> results) {
  Encoding encoding = code(VhloType::function);
  for (const auto& types : {inputs, results}) {
    encoding.varint(types.size());
    for (const TypeId type : types) encoding.type(type);
  }
  return tables_.type(kVhlo, std::move(encoding));
}

AttrId VhloEncoder::builtin_string(std::string_view value) {
  return tables_.attribute(kBuiltin,
                           std::move(code(BuiltinAttr::string).varint(tables_.string(value))));
}

AttrId VhloEncoder::builtin_dictionary(std::vector<std::pair<std::string, AttrId>> entries) {
  std::ranges::sort(entries, {}, &std::pair<std::string, AttrId>::first);
  Encoding encoding = code(BuiltinAttr::dictionary);
  encoding.varint(entries.size());
  for (const auto& [name, value] : entries)
    encoding.attribute(builtin_string(name)).attribute(value);
  return tables_.attribute(kBuiltin, std::move(encoding));
}

AttrId VhloEncoder::unit() { return tables_.attribute(kBuiltin, code(BuiltinAttr::unit)); }

AttrId VhloEncoder::unknown_location() {
  return tables_.attribute(kBuiltin, code(BuiltinAttr::unknown_location));
}

AttrId VhloEncoder::location(std::string_view name, std::string_view file, uint64_t line) {
  AttrId place = unknown_location();
  if (!file.empty()) {
    Encoding encoding = code(BuiltinAttr::file_location);
    encoding.attribute(builtin_string(file)).varint(line).varint(0);
    place = tables_.attribute(kBuiltin, std::move(encoding));
  }
  if (name.empty()) return place;
  Encoding encoding = code(BuiltinAttr::name_location);
  encoding.attribute(builtin_string(name)).attribute(place);
  return tables_.attribute(kBuiltin, std::move(encoding));
}

}  // namespace systole::hlo::bytecode
