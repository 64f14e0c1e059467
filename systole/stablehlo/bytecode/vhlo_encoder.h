// Encodes attributes and types of VHLO.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/stablehlo/bytecode/container.h"
#include "systole/stablehlo/bytecode/encoder.h"
#include "systole/stablehlo/bytecode/encoding.h"

namespace systole::hlo::bytecode {

class VhloEncoder {
 public:
  VhloEncoder(Tables& tables, VhloVersion version) : tables_(tables), version_(version) {}

  Tables& tables() const { return tables_; }
  const VhloVersion& version() const { return version_; }

  AttrId array(std::span<const AttrId> elements);
  AttrId boolean(bool value);
  // An enum's value, or the version of custom_call's interface.
  AttrId enumerator(VhloAttr kind, uint64_t value);
  // Entries by name; they are sorted.
  AttrId dictionary(std::vector<std::pair<std::string, AttrId>> entries);
  // The bits of a number; `type` is that of MLIR text: "f32", "i64".
  AttrId number(std::string_view type, uint64_t bits);
  AttrId integer(int64_t value) { return number("i64", static_cast<uint64_t>(value)); }
  AttrId string(std::string_view value);
  // `element` replaces the name of the element type: "index", whose elements are s64.
  AttrId tensor(const Tensor& value, std::string_view element = "");
  // A tensor of equal elements.
  AttrId splat(const Tensor& element, const TensorType& type);
  AttrId integers(std::span<const int64_t> values);
  AttrId type_attribute(TypeId type);
  AttrId output_operand_alias(std::span<const int64_t> outputs, int64_t operand,
                              std::span<const int64_t> operands);
  // What every op permits: the accuracy of the type.
  AttrId default_accuracy();
  // Stands for a missing value.
  AttrId none();

  TypeId type(const TensorType& type, std::string_view element_name = "");
  // Errors: UNIMPLEMENTED if this version of VHLO does not have it; INVALID_ARGUMENT if none has.
  TypeId element(std::string_view name);
  // The element type of a quantized tensor.
  TypeId quantized(DType storage, const QuantizedType& type);
  TypeId none_type();
  TypeId tuple(std::span<const TypeId> elements);
  TypeId function(std::span<const TypeId> inputs, std::span<const TypeId> results);

  // Attributes of the builtin dialect.
  AttrId builtin_string(std::string_view value);
  AttrId builtin_dictionary(std::vector<std::pair<std::string, AttrId>> entries);
  AttrId unit();
  AttrId unknown_location();
  // `file` may be empty.
  AttrId location(std::string_view name, std::string_view file, uint64_t line);

 private:
  Tables& tables_;
  VhloVersion version_;
};

}  // namespace systole::hlo::bytecode
