#include "systole/stablehlo/bytecode/builtin_reader.h"

#include <algorithm>
#include <cstring>

#include "systole/stablehlo/bytecode/element_types.h"
#include "systole/stablehlo/bytecode/encoding.h"
#include "systole/stablehlo/bytecode/reader_parts.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::bytecode {
namespace {

// @f, or @f::@g.
DecodedAttribute read_symbol(ByteReader& reader, AttributeReader& attributes) {
  DecodedAttribute result;
  result.string = attributes.attribute(reader.varint("symbol"), reader).string;
  result.text = "@" + text::symbol_text(result.string);
  return result;
}

DecodedAttribute read_nested_symbol(ByteReader& reader, AttributeReader& attributes) {
  DecodedAttribute result = read_symbol(reader, attributes);
  const size_t count = reader.count("nested symbols");
  for (size_t i = 0; i < count; ++i) {
    const DecodedAttribute& nested = attributes.attribute(reader.varint("symbol"), reader);
    attributes.charge(nested.text.size(), reader);
    result.text += "::" + nested.text;
  }
  return result;
}

// array<i64: 1, 2>
DecodedAttribute read_dense_array(ByteReader& reader, AttributeReader& attributes) {
  const DecodedType& type = attributes.type(reader.varint("element type"), reader);
  const uint64_t count = reader.varint("number of elements");
  const std::string_view bytes = reader.bytes(reader.varint("size of an array"), "array");
  const auto width = static_cast<size_t>(type.tensor.element_bytes);
  const bool is_integer = type.text == "index" || type.text.starts_with("i");
  if (width == 0 || bytes.size() / width != count || bytes.size() % width != 0) {
    throw reader.error("array, got {} bytes, expected {} elements of {}", bytes.size(), count,
                       type.text);
  }
  DecodedAttribute result;
  std::string elements;
  for (size_t at = 0; at < bytes.size(); at += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, width);
    if (!elements.empty()) elements += ", ";
    if (type.text == "i1") {
      elements += bits != 0 ? "true" : "false";
    } else if (is_integer) {
      const size_t unused = 64 - 8 * width;
      elements += fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
    } else {
      const std::string number = number_text(bits, type.text);
      elements += number.substr(0, number.find(" :"));
    }
  }
  result.text = elements.empty() ? fmt::format("array<{}>", type.text)
                                 : fmt::format("array<{}: {}>", type.text, elements);
  return result;
}

DecodedType read_builtin_integer(ByteReader& reader) {
  const uint64_t value = reader.varint("integer type");
  constexpr std::string_view kPrefixes[] = {"i", "si", "ui"};
  const uint64_t sign = value & 3;
  if (sign > 2 || value >> 2 > 64)
    throw reader.error("integer type, got code {}, expected at most 64 bits", value);
  return plain_type(fmt::format("{}{}", kPrefixes[sign], value >> 2));
}

}  // namespace

DecodedAttribute read_builtin_attribute(ByteReader& reader, AttributeReader& attributes) {
  const uint64_t code = reader.varint("attribute");
  DecodedAttribute result;
  switch (static_cast<BuiltinAttr>(std::min<uint64_t>(code, 255))) {
    case BuiltinAttr::array:
      return read_array(reader, attributes);
    case BuiltinAttr::dictionary:
      return read_dictionary(reader, attributes);
    case BuiltinAttr::string:
      return read_string(reader, attributes);
    case BuiltinAttr::typed_string:
      result = read_string(reader, attributes);
      attributes.type(reader.varint("type of a string"), reader);
      return result;
    case BuiltinAttr::symbol:
      return read_symbol(reader, attributes);
    case BuiltinAttr::nested_symbol:
      return read_nested_symbol(reader, attributes);
    case BuiltinAttr::type:
      return read_type_attribute(reader, attributes);
    case BuiltinAttr::unit:
      result.kind = AttributeKind::unit;
      return result;
    case BuiltinAttr::integer:
      return read_integer(reader, attributes);
    case BuiltinAttr::floating:
      return read_float(reader, attributes);
    case BuiltinAttr::dense_array:
      return read_dense_array(reader, attributes);
    case BuiltinAttr::dense:
      return read_dense(reader, attributes);
    default:
      throw unimplemented(
          "{}: byte {}: attribute of the builtin dialect, got kind {}, expected one that StableHLO "
          "has",
          reader.file(), reader.offset(), code);
  }
}

DecodedType read_builtin_type(ByteReader& reader, AttributeReader& attributes) {
  const uint64_t code = reader.varint("type");
  switch (static_cast<BuiltinType>(std::min<uint64_t>(code, 255))) {
    case BuiltinType::integer:
      return read_builtin_integer(reader);
    case BuiltinType::index:
      return plain_type("index");
    case BuiltinType::function:
      return read_function(reader, attributes);
    case BuiltinType::bf16:
      return plain_type("bf16");
    case BuiltinType::f16:
      return plain_type("f16");
    case BuiltinType::f32:
      return plain_type("f32");
    case BuiltinType::f64:
      return plain_type("f64");
    case BuiltinType::complex:
      return read_complex(reader, attributes);
    case BuiltinType::none:
      return plain_type("none");
    case BuiltinType::tensor:
      return read_tensor(reader, attributes, "tensor");
    case BuiltinType::tensor_with_encoding: {
      const std::string encoding = attributes.attribute(reader.varint("encoding"), reader).text;
      return read_tensor(reader, attributes, "tensor", encoding);
    }
    case BuiltinType::tuple:
      return read_type_list(reader, attributes, "tuple");
    case BuiltinType::unranked_tensor:
      return plain_type(
          fmt::format("tensor<*x{}>", attributes.type(reader.varint("element type"), reader).text));
    default:
      throw unimplemented(
          "{}: byte {}: type of the builtin dialect, got kind {}, expected one that StableHLO has",
          reader.file(), reader.offset(), code);
  }
}

}  // namespace systole::hlo::bytecode
