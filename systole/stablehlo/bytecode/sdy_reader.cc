#include "systole/stablehlo/bytecode/sdy_reader.h"

#include <algorithm>

#include "systole/stablehlo/bytecode/reader_parts.h"
#include "systole/stablehlo/text/lexer.h"

namespace systole::hlo::bytecode {
namespace {

// Source: shardy/dialect/sdy/ir/bytecode.td of openxla/shardy.
enum class SdyAttr : uint8_t {
  manual_axes,
  mesh_axis,
  mesh,
  sub_axis,
  axis_ref,
  dimension_sharding,
  sharding,
  sharding_per_value,
  dimension_mapping,
  tensor_mapping,
  sharding_rule,
  axis_refs,
  axis_ref_lists,
  all_to_all_parameter,
  all_to_all_parameters,
  unreduced_sharding,
  unreduced_sharding_per_value,
  reduced_sharding,
};

class SdyReader {
 public:
  SdyReader(ByteReader& reader, AttributeReader& attributes)
      : reader_(reader), attributes_(attributes) {}

  std::string read() {
    const uint64_t code = reader_.varint("attribute");
    switch (static_cast<SdyAttr>(std::min<uint64_t>(code, 255))) {
      case SdyAttr::manual_axes:
        return fmt::format("#sdy<manual_axes{{{}}}>", fmt::join(list(), ", "));
      case SdyAttr::mesh_axis:
        return mesh_axis();
      case SdyAttr::mesh:
        return mesh();
      case SdyAttr::sub_axis:
        return sub_axis();
      case SdyAttr::axis_ref:
        return axis_ref();
      case SdyAttr::dimension_sharding:
        return dimension_sharding();
      case SdyAttr::sharding:
        return sharding() + ">";
      case SdyAttr::unreduced_sharding:
        return unreduced_sharding() + ">";
      case SdyAttr::reduced_sharding:
        return reduced_sharding();
      case SdyAttr::sharding_per_value:
      case SdyAttr::unreduced_sharding_per_value:
        return sharding_per_value();
      case SdyAttr::dimension_mapping:
        return dimension_mapping();
      case SdyAttr::tensor_mapping:
        return fmt::format("[{}]", fmt::join(list(), ", "));
      case SdyAttr::sharding_rule:
        return sharding_rule();
      case SdyAttr::axis_refs:
        return fmt::format("{{{}}}", fmt::join(list(), ", "));
      case SdyAttr::axis_ref_lists:
      case SdyAttr::all_to_all_parameters:
        return fmt::format("[{}]", fmt::join(list(), ", "));
      case SdyAttr::all_to_all_parameter:
        return all_to_all_parameter();
    }
    throw unimplemented("{}: byte {}: attribute of Shardy, got kind {}, expected one below 18",
                        reader_.file(), reader_.offset(), code);
  }

 private:
  // The texts of attributes in a list.
  std::vector<std::string> list() {
    std::vector<std::string> texts(reader_.count("attributes of a list"));
    for (std::string& text : texts) {
      text = attributes_.attribute(reader_.varint("attribute"), reader_).text;
      attributes_.charge(text.size(), reader_);
    }
    return texts;
  }

  std::string name() {
    return text::quote(attributes_.string(reader_.varint("name of an axis"), reader_));
  }

  // "x"=2
  std::string mesh_axis() {
    const std::string axis = name();
    return fmt::format("{}={}", axis, reader_.signed_varint("size of an axis"));
  }

  std::string mesh() {
    const std::vector<std::string> axes = list();
    const std::vector<int64_t> ids = read_signed_list(reader_);
    const std::string suffix = ids.empty() ? "" : fmt::format(", device_ids={}", list_text(ids));
    return fmt::format("#sdy.mesh<[{}]{}>", fmt::join(axes, ", "), suffix);
  }

  // (2)4
  std::string sub_axis() {
    const int64_t before = reader_.signed_varint("size before a part of an axis");
    return fmt::format("({}){}", before, reader_.signed_varint("size of a part of an axis"));
  }

  // "x", or "x":(2)4
  std::string axis_ref() {
    std::string text = name();
    const auto [part, present] = reader_.flagged("part of an axis");
    if (present) text += ":" + attributes_.attribute(part, reader_).text;
    return text;
  }

  // {"x", ?}p1
  std::string dimension_sharding() {
    std::vector<std::string> axes = list();
    if (reader_.byte("closed dimension") == 0) axes.emplace_back("?");
    const auto [priority, present] = reader_.flagged("priority");
    return fmt::format("{{{}}}{}", fmt::join(axes, ", "),
                       present ? fmt::format("p{}", priority) : "");
  }

  // #sdy.sharding<@mesh, [{"x"}, {}], replicated={"y"}, without its end.
  std::string sharding() {
    const std::string& mesh = attributes_.attribute(reader_.varint("mesh"), reader_).text;
    constexpr std::string_view kInline = "#sdy.";
    const std::string_view shown = mesh.starts_with(kInline)
                                       ? std::string_view(mesh).substr(kInline.size())
                                       : std::string_view(mesh);
    const std::vector<std::string> dimensions = list();
    const std::vector<std::string> replicated = list();
    std::string text = fmt::format("#sdy.sharding<{}, [{}]", shown, fmt::join(dimensions, ", "));
    if (!replicated.empty())
      text += fmt::format(", replicated={{{}}}", fmt::join(replicated, ", "));
    return text;
  }

  std::string unreduced_sharding() {
    const std::string text = sharding();
    return text + fmt::format(", unreduced={{{}}}", fmt::join(list(), ", "));
  }

  std::string reduced_sharding() {
    const std::string text = unreduced_sharding();
    return text + fmt::format(", reduction_op={}>", reader_.signed_varint("reduction"));
  }

  // #sdy.sharding_per_value<[<@mesh, [{}]>]>
  std::string sharding_per_value() {
    std::vector<std::string> shardings = list();
    constexpr std::string_view kPrefix = "#sdy.sharding";
    for (std::string& text : shardings) {
      if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
    }
    return fmt::format("#sdy.sharding_per_value<[{}]>", fmt::join(shardings, ", "));
  }

  // i to z, then z_1, z_2...
  static std::string factor(int64_t index) {
    constexpr int64_t kLetters = 'z' - 'i' + 1;
    if (index < 0) return "?";
    return index < kLetters ? std::string(1, static_cast<char>('i' + index))
                            : fmt::format("z_{}", index - kLetters + 1);
  }

  std::string dimension_mapping() {
    std::string text;
    for (const int64_t index : read_signed_list(reader_)) text += factor(index);
    return text;
  }

  // #sdy.op_sharding_rule<([i, k])->([i]) {i=4, k=8} reduction={k}, custom>
  std::string sharding_rule() {
    const std::vector<int64_t> sizes = read_signed_list(reader_);
    const std::vector<std::string> operands = list();
    const std::vector<std::string> results = list();
    std::vector<std::string> factors;
    for (size_t i = 0; i < sizes.size(); ++i) {
      factors.push_back(fmt::format("{}={}", factor(static_cast<int64_t>(i)), sizes[i]));
    }
    std::string text =
        fmt::format("#sdy.op_sharding_rule<({})->({}) {{{}}}", fmt::join(operands, ", "),
                    fmt::join(results, ", "), fmt::join(factors, ", "));
    for (const std::string_view kind :
         {"reduction", "need_replication", "permutation", "blocked_propagation"}) {
      std::vector<std::string> names;
      for (const int64_t index : read_signed_list(reader_)) names.push_back(factor(index));
      if (!names.empty()) text += fmt::format(" {}={{{}}}", kind, fmt::join(names, ", "));
    }
    return text + (reader_.byte("custom rule") != 0 ? ", custom>" : ">");
  }

  // {"x"}: 0->1
  std::string all_to_all_parameter() {
    const std::vector<std::string> axes = list();
    const int64_t from = reader_.signed_varint("dimension");
    return fmt::format("{{{}}}: {}->{}", fmt::join(axes, ", "), from,
                       reader_.signed_varint("dimension"));
  }

  ByteReader& reader_;
  AttributeReader& attributes_;
};

}  // namespace

DecodedAttribute read_sdy_attribute(ByteReader& reader, AttributeReader& attributes) {
  return plain_attribute(SdyReader(reader, attributes).read());
}

}  // namespace systole::hlo::bytecode
