// What the encodings of the builtin dialect and of VHLO share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "systole/stablehlo/bytecode/attribute_reader.h"

namespace systole::hlo::bytecode {

// Each reads the fields that follow an attribute's or type's code.
DecodedAttribute read_array(ByteReader& reader, AttributeReader& attributes);
DecodedAttribute read_string(ByteReader& reader, const AttributeReader& attributes);
// A type, and a number of it.
DecodedAttribute read_integer(ByteReader& reader, AttributeReader& attributes);
DecodedAttribute read_float(ByteReader& reader, AttributeReader& attributes);
// A type, and the elements.
DecodedAttribute read_dense(ByteReader& reader, AttributeReader& attributes);
DecodedAttribute read_type_attribute(ByteReader& reader, AttributeReader& attributes);
DecodedType read_complex(ByteReader& reader, AttributeReader& attributes);
DecodedType read_function(ByteReader& reader, AttributeReader& attributes);
// `name` is tensor or memref.
DecodedType read_tensor(ByteReader& reader, AttributeReader& attributes, std::string_view name,
                        const std::string& encoding = "");
// "tuple<T, U>", "!stablehlo.future<T>".
DecodedType read_type_list(ByteReader& reader, AttributeReader& attributes, std::string_view name);

// The bits of a floating-point number of that type.
uint64_t read_float_bits(ByteReader& reader, int width);
DecodedType plain_type(std::string text);
// Reads a dictionary attribute of VHLO or of the builtin dialect, and sorts its entries by name, as
// MLIR does.
DecodedAttribute read_dictionary(ByteReader& reader, AttributeReader& attributes);
// "[1, 2]"
std::string list_text(const std::vector<int64_t>& values);
std::vector<int64_t> read_signed_list(ByteReader& reader);

inline DecodedAttribute plain_attribute(std::string text) {
  DecodedAttribute attribute;
  attribute.text = std::move(text);
  return attribute;
}

}  // namespace systole::hlo::bytecode
