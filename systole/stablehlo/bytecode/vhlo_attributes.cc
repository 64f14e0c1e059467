#include "systole/stablehlo/bytecode/vhlo_attributes.h"

#include <optional>

#include "systole/stablehlo/bytecode/attribute_groups.h"
#include "systole/stablehlo/bytecode/enum_attributes.h"
#include "systole/stablehlo/bytecode/text_encoder.h"

namespace systole::hlo::bytecode {
namespace {

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

// The attributes in which VHLO stores an empty string or dictionary where they are missing; a list
// in others.
AttrId missing_text(std::string_view name, VhloEncoder& encoder) {
  if (name == "backend_config") return encoder.string("");
  if (name == "composite_attributes") return encoder.dictionary({});
  return encoder.array({});
}

// The visitor of ir/attrs.h that encodes fields.
class AttributeEncoder {
 public:
  AttributeEncoder(VhloEncoder& encoder, int num_operands)
      : encoder_(encoder), num_operands_(num_operands) {}

  template <class T>
  void required(std::string_view name, const T& field) {
    add(name, encode(name, field), false);
  }
  template <class T>
  void optional(std::string_view name, const T& field, const T& missing) {
    if constexpr (std::is_same_v<T, Pairs>) {
      if (field.empty()) return add(name, encoder_.integers({}), true);
    }
    add(name, encode(name, field), field == missing);
  }
  void callee(std::string_view name, const std::string& field) {
    add(name, encoder_.string(field), false);
  }
  void callees(std::string_view name, const std::vector<std::string>& field) {
    std::vector<AttrId> functions;
    for (const std::string& function : field) functions.push_back(encoder_.string(function));
    add(name, encoder_.array(functions), field.empty());
  }
  void flag(std::string_view name, bool field) { add(name, encoder_.boolean(field), !field); }
  void rest(const std::vector<NamedAttrText>& field) {
    for (const NamedAttrText& entry : field)
      add(entry.name, encode_text(entry.attribute.text, encoder_), false);
  }
  void window_padding(std::string_view name, const Pairs& field) { required(name, field); }
  template <class Fill>
  void structure(std::string_view, std::string_view attribute, Fill&& fill) {
    structure_ = attribute;
    fill(*this);
    structure_ = "";
  }
  template <class Fill>
  void optional_structure(std::string_view name, std::string_view attribute, bool present,
                          Fill&& fill) {
    absent_ = !present;
    structure(name, attribute, fill);
    absent_ = false;
  }
  void convolution(std::string_view, const ConvolutionAttrs& a) {
    required("input_batch_dimension", a.input_batch_dimension);
    required("input_feature_dimension", a.input_feature_dimension);
    required("input_spatial_dimensions", a.input_spatial_dimensions);
    required("kernel_input_feature_dimension", a.kernel_input_feature_dimension);
    required("kernel_output_feature_dimension", a.kernel_output_feature_dimension);
    required("kernel_spatial_dimensions", a.kernel_spatial_dimensions);
    required("output_batch_dimension", a.output_batch_dimension);
    required("output_feature_dimension", a.output_feature_dimension);
    required("output_spatial_dimensions", a.output_spatial_dimensions);
  }

  std::vector<VhloAttribute> result;

 private:
  void add(std::string_view name, AttrId value, bool is_default) {
    result.push_back(
        {std::string(vhlo_field_name(structure_, name)), value, is_default || absent_});
  }

  template <class T>
  AttrId encode(std::string_view name, const T& field) {
    if (absent_ && structure_ == kAlgorithmStructure) return encoder_.none();
    if constexpr (std::is_same_v<T, AttrText>) {
      return field.text.empty() ? missing_text(name, encoder_) : encode_text(field.text, encoder_);
    } else if constexpr (std::is_same_v<T, int>) {
      if (name == "api_version")
        return encoder_.enumerator(VhloAttr::custom_call_api_version, static_cast<uint64_t>(field));
      return encoder_.number("i32", static_cast<uint64_t>(int64_t{field}));
    } else {
      return encode_plain(field);
    }
  }

  AttrId encode_plain(bool field) { return encoder_.boolean(field); }
  AttrId encode_plain(int64_t field) { return encoder_.integer(field); }
  AttrId encode_plain(float field) {
    return encoder_.number("f32", std::bit_cast<uint32_t>(field));
  }
  AttrId encode_plain(const std::string& field) { return encoder_.string(field); }
  AttrId encode_plain(const Tensor& field) { return encoder_.tensor(field); }
  AttrId encode_plain(const Dims& field) {
    return encoder_.integers(std::vector<int64_t>(field.begin(), field.end()));
  }
  AttrId encode_plain(const std::vector<bool>& field) {
    return encoder_.tensor(Tensor::of<bool>({static_cast<int64_t>(field.size())}, field));
  }
  AttrId encode_plain(const Pairs& pairs) {
    std::vector<int64_t> flat;
    for (const auto& [first, second] : pairs) flat.insert(flat.end(), {first, second});
    return encoder_.tensor(Tensor::of<int64_t>({static_cast<int64_t>(pairs.size()), 2}, flat));
  }
  // One list of axes a tensor.
  AttrId encode_plain(const std::optional<std::vector<Dims>>& field) {
    std::vector<AttrId> lists;
    for (const Dims& axes : field.value_or(std::vector<Dims>())) {
      std::vector<AttrId> list;
      for (const int64_t axis : axes) list.push_back(encoder_.integer(axis));
      lists.push_back(encoder_.array(list));
    }
    return encoder_.array(lists);
  }
  template <class E>
  requires std::is_enum_v<E> AttrId encode_plain(E field) {
    constexpr const EnumAttribute* row = find_enum_attribute(EnumNames<E>::kind);
    static_assert(row != nullptr, "the enum has no row in enum_attributes.h");
    return encoder_.enumerator(row->code, row->first + static_cast<uint64_t>(field));
  }
  // The precision of each operand.
  AttrId encode_plain(const std::vector<Precision>& field) {
    std::vector<AttrId> list;
    for (const Precision precision : field) list.push_back(encode_plain(precision));
    if (list.empty())
      list.assign(static_cast<size_t>(num_operands_), encode_plain(Precision::default_));
    return encoder_.array(list);
  }

  VhloEncoder& encoder_;
  int num_operands_;
  std::string_view structure_;
  bool absent_ = false;  // inside of an optional structure that has no value
};

}  // namespace

std::vector<VhloAttribute> vhlo_attributes(const Instruction& instruction, VhloEncoder& encoder) {
  Attrs attrs = instruction.attrs();
  if (instruction.num_operands() > 0)
    set_window_defaults(attrs, instruction.operand(0).shape().rank());
  AttributeEncoder visitor(encoder, instruction.num_operands());
  std::visit([&](auto& fields) { fields.describe(visitor); }, attrs);
  return std::move(visitor.result);
}

}  // namespace systole::hlo::bytecode
