#include "systole/stablehlo/bytecode/vhlo_reader.h"

#include <algorithm>
#include <array>
#include <span>

#include "systole/stablehlo/bytecode/element_types.h"
#include "systole/stablehlo/bytecode/encoding.h"
#include "systole/stablehlo/bytecode/enum_attributes.h"
#include "systole/stablehlo/bytecode/reader_parts.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::bytecode {
namespace {

// The names of result accuracy modes.
constexpr std::array<std::string_view, 3> kAccuracyModes = {"DEFAULT", "HIGHEST", "TOLERANCE"};

DecodedAttribute read_enum(ByteReader& reader, std::string_view kind,
                           std::span<const std::string_view> names, uint64_t first = 0) {
  const uint64_t code = reader.varint(kind);
  if (code < first || code - first >= names.size()) {
    throw reader.error("{}, got {}, expected in [{}, {}]", kind, code, first,
                       first + names.size() - 1);
  }
  return plain_attribute(fmt::format("#stablehlo<{} {}>", kind, names[code - first]));
}

DecodedAttribute read_boolean(ByteReader& reader) {
  const uint64_t value = reader.varint("boolean");
  if (value > 1) throw reader.error("boolean, got {}, expected 0 or 1", value);
  DecodedAttribute result = plain_attribute(value == 1 ? "true" : "false");
  result.kind = AttributeKind::boolean;
  return result;
}

DecodedAttribute read_api_version(ByteReader& reader) {
  const uint64_t version = reader.varint("api_version");
  if (version > 4) throw reader.error("api_version, got {}, expected at most 4", version);
  return plain_attribute(fmt::format("{} : i32", version));
}

DecodedAttribute read_alias(ByteReader& reader) {
  const std::string outputs = list_text(read_signed_list(reader));
  const int64_t operand = reader.signed_varint("operand of an alias");
  return plain_attribute(
      fmt::format("#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {}, "
                  "operand_tuple_indices = {}>",
                  outputs, operand, list_text(read_signed_list(reader))));
}

std::string double_text(ByteReader& reader) {
  const std::string text = number_text(read_float_bits(reader, 64), "f64");
  return text.substr(0, text.find(" :"));
}

DecodedAttribute read_accuracy(ByteReader& reader, AttributeReader& attributes) {
  const std::string absolute = double_text(reader);
  const std::string relative = double_text(reader);
  const int64_t ulps = reader.signed_varint("ulps");
  const std::string& mode = attributes.attribute(reader.varint("mode"), reader).text;
  return plain_attribute(
      fmt::format("#stablehlo.result_accuracy<atol = {}, rtol = {}, ulps = {}, mode = {}>",
                  absolute, relative, ulps, mode));
}

// #stablehlo.bounds<?, 4>
DecodedAttribute read_bounds(ByteReader& reader) {
  std::string text;
  for (const int64_t bound : read_signed_list(reader)) {
    if (!text.empty()) text += ", ";
    text += bound < 0 ? "?" : std::to_string(bound);
  }
  return plain_attribute(fmt::format("#stablehlo.bounds<{}>", text));
}

DecodedAttribute read_sub_axis(ByteReader& reader) {
  const int64_t before = reader.signed_varint("size before a part of an axis");
  return plain_attribute(
      fmt::format("({}){}", before, reader.signed_varint("size of a part of an axis")));
}

DecodedAttribute read_axis_ref(ByteReader& reader, AttributeReader& attributes) {
  std::string text = "#stablehlo.axis_ref<name = " +
                     attributes.attribute(reader.varint("name of an axis"), reader).text;
  if (reader.varint("part of an axis") != 0) {
    text +=
        ", sub_axis_info = " + attributes.attribute(reader.varint("part of an axis"), reader).text;
  }
  return plain_attribute(text + ">");
}

// The mesh is an attribute, or the name of one.
DecodedAttribute read_mesh_axes(ByteReader& reader, AttributeReader& attributes) {
  const DecodedAttribute& mesh = attributes.attribute(reader.varint("mesh"), reader);
  const std::string name =
      mesh.kind == AttributeKind::string ? "@" + text::symbol_text(mesh.string) : mesh.text;
  const std::string& axes = attributes.attribute(reader.varint("axes"), reader).text;
  return plain_attribute(
      fmt::format("#stablehlo.replica_group_mesh_axes<mesh = {}, axes = {}>", name, axes));
}

DecodedAttribute read_mesh_axis(ByteReader& reader, AttributeReader& attributes) {
  const std::string& name = attributes.attribute(reader.varint("name of an axis"), reader).text;
  return plain_attribute(fmt::format("#stablehlo.mesh_axis<name = {}, size = {}>", name,
                                     reader.signed_varint("size of an axis")));
}

DecodedAttribute read_mesh(ByteReader& reader, AttributeReader& attributes) {
  std::string text =
      "#stablehlo.mesh<axes = " + attributes.attribute(reader.varint("axes"), reader).text;
  const auto [ids, present] = reader.flagged("device ids");
  if (present) text += ", device_ids = " + attributes.attribute(ids, reader).text;
  return plain_attribute(text + ">");
}

// "i8", or "u8" for the storage of unsigned numbers, and its range where that is not the type's.
std::string storage_text(const std::string& type, uint64_t flags, int64_t least, int64_t most) {
  const bool is_signed = (flags & 1) != 0;
  const size_t digits = type.find_first_of("0123456789");
  const std::string width = digits == std::string::npos ? "" : type.substr(digits);
  std::string name = (is_signed ? "i" : "u") + width;
  const int bits = width.empty() || width.size() > 2 ? 0 : std::stoi(width);
  if (bits < 1 || bits > 32) return name;
  const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  return least == low && most == high ? name : fmt::format("{}<{}:{}>", name, least, most);
}

std::string scale_text(ByteReader& reader) { return double_text(reader); }

std::string quantized_element(const std::string& scale, int64_t zero_point) {
  return zero_point == 0 ? scale : fmt::format("{}:{}", scale, zero_point);
}

// !quant.uniform<i8:f32, 1.0:17>
DecodedType read_quantized(ByteReader& reader, AttributeReader& attributes) {
  const uint64_t flags = reader.varint("flags of a quantized type");
  const std::string& storage = attributes.type(reader.varint("storage type"), reader).text;
  const std::string& expressed = attributes.type(reader.varint("expressed type"), reader).text;
  const std::string scale = scale_text(reader);
  const int64_t zero_point = reader.signed_varint("zero point");
  const int64_t least = reader.signed_varint("least stored number");
  const int64_t most = reader.signed_varint("greatest stored number");
  return plain_type(fmt::format("!quant.uniform<{}:{}, {}>",
                                storage_text(storage, flags, least, most), expressed,
                                quantized_element(scale, zero_point)));
}

// !quant.uniform<i8:f32:1, {1.0:17, 2.0}>
DecodedType read_quantized_per_axis(ByteReader& reader, AttributeReader& attributes) {
  const uint64_t flags = reader.varint("flags of a quantized type");
  const std::string& storage = attributes.type(reader.varint("storage type"), reader).text;
  const std::string& expressed = attributes.type(reader.varint("expressed type"), reader).text;
  const uint64_t axis = reader.varint("axis of a quantized type");
  const int64_t least = reader.signed_varint("least stored number");
  const int64_t most = reader.signed_varint("greatest stored number");
  std::vector<std::string> scales(reader.count("scales"));
  for (std::string& scale : scales) scale = scale_text(reader);
  const std::vector<int64_t> zero_points = read_signed_list(reader);
  if (zero_points.size() != scales.size()) {
    throw reader.error("zero points, got {}, expected {}, one for each scale", zero_points.size(),
                       scales.size());
  }
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = quantized_element(scales[i], zero_points[i]);
  return plain_type(fmt::format("!quant.uniform<{}:{}:{}, {{{}}}>",
                                storage_text(storage, flags, least, most), expressed, axis,
                                fmt::join(scales, ", ")));
}

}  // namespace

DecodedAttribute read_vhlo_attribute(ByteReader& reader, AttributeReader& attributes) {
  const uint64_t code = reader.varint("attribute");
  const auto kind = static_cast<VhloAttr>(std::min<uint64_t>(code, 255));
  if (const EnumAttribute* row = find_enum_attribute(kind))
    return read_enum(reader, row->kind, row->names, row->first);
  switch (kind) {
    case VhloAttr::array:
      return read_array(reader, attributes);
    case VhloAttr::boolean:
      return read_boolean(reader);
    case VhloAttr::custom_call_api_version:
      return read_api_version(reader);
    case VhloAttr::dictionary:
      return read_dictionary(reader, attributes);
    case VhloAttr::floating:
      return read_float(reader, attributes);
    case VhloAttr::integer:
      return read_integer(reader, attributes);
    case VhloAttr::output_operand_alias:
      return read_alias(reader);
    case VhloAttr::string:
      return read_string(reader, attributes);
    case VhloAttr::tensor:
      return read_dense(reader, attributes);
    case VhloAttr::type:
      return read_type_attribute(reader, attributes);
    case VhloAttr::type_extensions:
      return read_bounds(reader);
    case VhloAttr::result_accuracy_mode:
      return read_enum(reader, "result_accuracy_mode", kAccuracyModes);
    case VhloAttr::result_accuracy:
      return read_accuracy(reader, attributes);
    case VhloAttr::sub_axis_info:
      return read_sub_axis(reader);
    case VhloAttr::axis_ref:
      return read_axis_ref(reader, attributes);
    case VhloAttr::replica_group_mesh_axes:
      return read_mesh_axes(reader, attributes);
    case VhloAttr::mesh_axis:
      return read_mesh_axis(reader, attributes);
    case VhloAttr::mesh:
      return read_mesh(reader, attributes);
    default:
      break;
  }
  throw unimplemented(
      "{}: byte {}: attribute of VHLO, got kind {}, expected one of version {} or before",
      reader.file(), reader.offset(), code, kNewestVhlo.to_string());
}

DecodedType read_vhlo_type(ByteReader& reader, AttributeReader& attributes) {
  const uint64_t code = reader.varint("type");
  if (const ElementType* element = element_type(code))
    return plain_type(std::string(element->name));
  switch (static_cast<VhloType>(std::min<uint64_t>(code, 255))) {
    case VhloType::complex:
      return read_complex(reader, attributes);
    case VhloType::function:
      return read_function(reader, attributes);
    case VhloType::tensor:
      return read_tensor(reader, attributes, "tensor");
    case VhloType::tensor_with_encoding: {
      const std::string encoding = attributes.attribute(reader.varint("encoding"), reader).text;
      return read_tensor(reader, attributes, "tensor", encoding);
    }
    case VhloType::token:
      return plain_type("!stablehlo.token");
    case VhloType::tuple:
      return read_type_list(reader, attributes, "tuple");
    case VhloType::quantized:
      return read_quantized(reader, attributes);
    case VhloType::unranked_tensor:
      return plain_type(
          fmt::format("tensor<*x{}>", attributes.type(reader.varint("element type"), reader).text));
    case VhloType::witness:
      return plain_type("!shape.witness");
    case VhloType::quantized_per_axis:
      return read_quantized_per_axis(reader, attributes);
    case VhloType::none:
      return plain_type("none");
    case VhloType::buffer:
      return read_tensor(reader, attributes, "memref");
    case VhloType::future:
      return read_type_list(reader, attributes, "!stablehlo.future");
  }
  throw unimplemented(
      "{}: byte {}: type of VHLO, got kind {}, expected one of version {} or before", reader.file(),
      reader.offset(), code, kNewestVhlo.to_string());
}

}  // namespace systole::hlo::bytecode
