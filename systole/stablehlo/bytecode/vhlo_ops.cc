#include "systole/stablehlo/bytecode/vhlo_ops.h"

#include <algorithm>
#include <charconv>

namespace systole::hlo::bytecode {
namespace {

struct OpRow {
  std::string_view name;
  int version;
  VhloVersion since;
  VhloVersion until;
  std::string_view attributes;
  bool one_operand = false;
};

constexpr OpRow kRows[] = {
#define VHLO_OP(name, version, since_major, since_minor, until_major, until_minor, attributes) \
  {name, version, {since_major, since_minor, 0}, {until_major, until_minor, 0}, attributes},
#define VHLO_OP_OF_ONE(name, version, since_major, since_minor, until_major, until_minor, attrs) \
  {name, version, {since_major, since_minor, 0}, {until_major, until_minor, 0}, attrs, true},
#include "systole/stablehlo/bytecode/vhlo_ops.def"
#undef VHLO_OP_OF_ONE
#undef VHLO_OP
};

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

VhloOp op_of(const OpRow& row) {
  return {row.name,  row.version,     row.since,
          row.until, row.one_operand, split_words(row.attributes)};
}

bool is_listed(std::string_view name) {
  return std::ranges::find(kRows, name, &OpRow::name) != std::end(kRows);
}

}  // namespace

std::optional<VhloOp> vhlo_op(std::string_view name) {
  const size_t suffix = name.rfind("_v");
  if (suffix == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(suffix + 2);
  int version = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  const std::string_view stem = name.substr(0, suffix);
  for (const OpRow& row : kRows) {
    if (row.name == stem && row.version == version) return op_of(row);
  }
  if (version != 1 || is_listed(stem)) return std::nullopt;
  return VhloOp{.name = stem};
}

std::optional<VhloOp> vhlo_op(std::string_view stablehlo_name, const VhloVersion& version) {
  const VhloVersion minor{version.major, version.minor, 0};
  for (const OpRow& row : kRows) {
    if (row.name == stablehlo_name && row.since <= minor && minor <= row.until) return op_of(row);
  }
  if (is_listed(stablehlo_name)) return std::nullopt;
  return VhloOp{.name = stablehlo_name};
}

}  // namespace systole::hlo::bytecode
