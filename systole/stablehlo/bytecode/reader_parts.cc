#include "systole/stablehlo/bytecode/reader_parts.h"

#include <algorithm>
#include <utility>

#include "systole/stablehlo/bytecode/element_types.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::bytecode {
namespace {

struct IntegerForm {
  int width;
  bool is_unsigned;
};

// Parses "i32", "ui8", "si16", "index".
IntegerForm integer_form(const std::string& name, const ByteReader& at) {
  if (name == "index") return {64, false};
  const size_t digits = name.find_first_of("0123456789");
  const std::string prefix = name.substr(0, digits);
  const bool is_integer = prefix == "i" || prefix == "ui" || prefix == "si";
  const std::string number = digits == std::string::npos ? "" : name.substr(digits);
  if (is_integer && number.size() <= 2 && !number.empty() &&
      number.find_first_not_of("0123456789") == std::string::npos) {
    const int width = std::stoi(number);
    if (width >= 1 && width <= 64) return {width, prefix == "ui"};
  }
  throw at.error("integer, got type {}, expected one of 1 to 64 bits", name);
}

std::string integer_digits(uint64_t bits, const IntegerForm& form) {
  const int unused = 64 - form.width;
  if (form.is_unsigned) return fmt::format("{}", bits << unused >> unused);
  return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
}

std::vector<uint64_t> read_indices(ByteReader& reader, std::string_view what) {
  const size_t count = reader.count(what);
  std::vector<uint64_t> indices;
  indices.reserve(count);
  for (size_t i = 0; i < count; ++i) indices.push_back(reader.varint(what));
  return indices;
}

std::string types_text(const std::vector<uint64_t>& indices, AttributeReader& attributes,
                       const ByteReader& at) {
  std::string text;
  for (const uint64_t index : indices) {
    const std::string& element = attributes.type(index, at).text;
    attributes.charge(element.size(), at);
    if (!text.empty()) text += ", ";
    text += element;
  }
  return text;
}

}  // namespace

DecodedType plain_type(std::string text) {
  DecodedType type;
  type.tensor.element = text;
  if (const ElementType* element = element_type(text)) type.tensor.element_bytes = element->bytes;
  type.text = std::move(text);
  return type;
}

std::string list_text(const std::vector<int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::vector<int64_t> read_signed_list(ByteReader& reader) {
  const size_t count = reader.count("numbers of a list");
  std::vector<int64_t> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) values.push_back(reader.signed_varint("number"));
  return values;
}

DecodedAttribute read_array(ByteReader& reader, AttributeReader& attributes) {
  DecodedAttribute array;
  array.kind = AttributeKind::array;
  array.elements = read_indices(reader, "attributes of a list");
  array.text = "[";
  for (const uint64_t index : array.elements) {
    const DecodedAttribute& element = attributes.attribute(index, reader);
    attributes.charge(element.text.size() + 4, reader);
    if (array.text.size() > 1) array.text += ", ";
    array.text += element.kind == AttributeKind::unit ? "unit" : element.text;
  }
  array.text += ']';
  return array;
}

namespace {

// "{a = 1 : i64, b}"
std::string dictionary_text(const DecodedAttribute& dictionary, AttributeReader& attributes,
                            const ByteReader& at) {
  std::string text = "{";
  for (const auto& [name, index] : dictionary.entries) {
    const DecodedAttribute& value = attributes.attribute(index, at);
    attributes.charge(name.size() + value.text.size() + 4, at);
    if (text.size() > 1) text += ", ";
    text += text::symbol_text(name);
    if (value.kind != AttributeKind::unit) text += " = " + value.text;
  }
  return text + "}";
}

}  // namespace

DecodedAttribute read_dictionary(ByteReader& reader, AttributeReader& attributes) {
  DecodedAttribute result;
  result.kind = AttributeKind::dictionary;
  const size_t count = reader.count("attributes of a dictionary");
  for (size_t i = 0; i < count; ++i) {
    const DecodedAttribute& name =
        attributes.attribute(reader.varint("name of an attribute"), reader);
    if (name.kind != AttributeKind::string)
      throw reader.error("name of an attribute, got {}, expected a string", name.text);
    result.entries.emplace_back(name.string, reader.varint("attribute"));
  }
  std::ranges::stable_sort(result.entries, {}, &std::pair<std::string, uint64_t>::first);
  result.text = dictionary_text(result, attributes, reader);
  return result;
}

DecodedAttribute read_string(ByteReader& reader, const AttributeReader& attributes) {
  DecodedAttribute result;
  result.kind = AttributeKind::string;
  result.string = attributes.string(reader.varint("string"), reader);
  result.text = text::quote(result.string);
  return result;
}

DecodedAttribute read_integer(ByteReader& reader, AttributeReader& attributes) {
  const std::string& type = attributes.type(reader.varint("type of an integer"), reader).text;
  const IntegerForm form = integer_form(type, reader);
  const uint64_t bits = form.width <= 8 ? reader.byte("integer")
                                        : static_cast<uint64_t>(reader.signed_varint("integer"));
  DecodedAttribute result;
  if (type == "i1") {
    result.kind = AttributeKind::boolean;
    result.text = (bits & 1) != 0 ? "true" : "false";
  } else {
    result.kind = AttributeKind::integer;
    result.string = integer_digits(bits, form);
    result.text = fmt::format("{} : {}", result.string, type);
  }
  return result;
}

uint64_t read_float_bits(ByteReader& reader, int width) {
  if (width <= 8) return reader.byte("number");
  const auto bits = static_cast<uint64_t>(reader.signed_varint("number"));
  return bits << (64 - width) >> (64 - width);
}

DecodedAttribute read_float(ByteReader& reader, AttributeReader& attributes) {
  const DecodedType& type = attributes.type(reader.varint("type of a number"), reader);
  const bool is_float = type.text.starts_with("f") || type.text == "bf16" || type.text == "tf32";
  if (!is_float || type.tensor.element_bytes == 0) {
    throw reader.error("number, got type {}, expected a floating-point type", type.text);
  }
  return plain_attribute(
      number_text(read_float_bits(reader, 8 * type.tensor.element_bytes), type.text));
}

DecodedAttribute read_dense(ByteReader& reader, AttributeReader& attributes) {
  const DecodedType& type = attributes.type(reader.varint("type of a constant"), reader);
  if (!type.text.starts_with("tensor<"))
    throw reader.error("constant, got type {}, expected a tensor", type.text);
  const uint64_t size = reader.varint("size of a constant");
  DenseText dense = dense_text(type.tensor, reader.bytes(size, "constant"), reader);
  DecodedAttribute result;
  result.text = fmt::format("{} : {}", dense.text, type.text);
  result.integers = std::move(dense.integers);
  return result;
}

DecodedAttribute read_type_attribute(ByteReader& reader, AttributeReader& attributes) {
  DecodedAttribute result;
  result.kind = AttributeKind::type;
  result.text = attributes.type(reader.varint("type"), reader).text;
  return result;
}

DecodedType read_complex(ByteReader& reader, AttributeReader& attributes) {
  const DecodedType& part = attributes.type(reader.varint("type of a complex number"), reader);
  DecodedType type;
  type.text = type.tensor.element = fmt::format("complex<{}>", part.text);
  type.tensor.element_bytes = 2 * part.tensor.element_bytes;
  return type;
}

DecodedType read_function(ByteReader& reader, AttributeReader& attributes) {
  DecodedType type;
  type.inputs = read_indices(reader, "types of parameters");
  type.results = read_indices(reader, "types of results");
  const std::string results = types_text(type.results, attributes, reader);
  type.text = fmt::format("({}) -> ({})", types_text(type.inputs, attributes, reader), results);
  return type;
}

DecodedType read_tensor(ByteReader& reader, AttributeReader& attributes, std::string_view name,
                        const std::string& encoding) {
  DecodedType type;
  type.tensor.sizes = read_signed_list(reader);
  const DecodedType& element = attributes.type(reader.varint("element type"), reader);
  type.tensor.element = element.tensor.element.empty() ? element.text : element.tensor.element;
  type.tensor.element_bytes = element.tensor.element_bytes;
  type.text = fmt::format("{}<", name);
  for (const int64_t size : type.tensor.sizes)
    type.text += size < 0 ? "?x" : fmt::format("{}x", size);
  type.text += element.text;
  if (!encoding.empty()) type.text += ", " + encoding;
  type.text += '>';
  return type;
}

DecodedType read_type_list(ByteReader& reader, AttributeReader& attributes, std::string_view name) {
  return plain_type(fmt::format(
      "{}<{}>", name, types_text(read_indices(reader, "types of a list"), attributes, reader)));
}

}  // namespace systole::hlo::bytecode
