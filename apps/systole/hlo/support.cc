#include "apps/systole/hlo/support.h"

#include <fmt/core.h>

#include <vector>

#include "apps/systole/hlo/arguments.h"
#include "apps/systole/hlo/programs.h"
#include "systole/base/error.h"
#include "systole/hlo/semantics/example_program.h"

namespace systole::app {
namespace {

constexpr std::string_view kBegin = "<!-- begin: written by `systole hlo support --write` -->\n";
constexpr std::string_view kEnd = "<!-- end -->\n";

// Ops on floats below 16 bits are those on f32; integers of 2 bits are as those of 4.
std::vector<DType> element_types() {
  std::vector<DType> types;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_numeric(dtype) && !is_small_float(dtype) && dtype_info(dtype).bits != 2) {
      types.push_back(dtype);
    }
  }
  return types;
}

std::string_view mark(Support support) {
  switch (support) {
    case Support::native:
      return "n";
    case Support::interpreted:
      return "r";
    case Support::none:
      return "-";
    default:
      return "";
  }
}

std::string table_row(hlo::Opcode opcode, const std::string& backend) {
  std::string row = fmt::format("| {} |", opcode);
  for (const DType dtype : element_types())
    row += fmt::format(" {} |", mark(find_support(opcode, dtype, backend)));
  return row + "\n";
}

std::string table_head() {
  std::string head = "| op |";
  std::string line = "|---|";
  for (const DType dtype : element_types()) {
    head += fmt::format(" {} |", dtype_info(dtype).mlir_name);
    line += "---|";
  }
  return head + "\n" + line + "\n";
}

}  // namespace

Support find_support(hlo::Opcode opcode, DType dtype, const std::string& backend_name) {
  std::unique_ptr<hlo::Module> module;
  try {
    module = std::move(parse_programs(hlo::example_program(opcode, dtype), "support")[0]);
  } catch (const Error&) {
    return Support::invalid;
  }
  try {
    // Not optimised, because passes rewrite some ops into others.
    const auto executable = backend(backend_name).compile(*module, {.optimize = false});
    runtime::run(*executable, random_arguments(*module, 1));
    return executable->stats().reference_steps > 0 ? Support::interpreted : Support::native;
  } catch (const Error& error) {
    if (error.code() != Code::unimplemented) throw;
    return Support::none;
  }
}

std::string support_tables() {
  std::string text;
  for (const std::string name : {"cpu", "reference"}) {
    text += fmt::format("### Backend `{}`\n\n{}", name, table_head());
    for (int i = 0; i < hlo::kNumOpcodes; ++i) {
      const auto opcode = static_cast<hlo::Opcode>(i);
      if (!hlo::example_program(opcode, DType::f32).empty()) text += table_row(opcode, name);
    }
    text += "\n";
  }
  return text;
}

std::string with_support_tables(const std::string& document, const std::string& path) {
  const size_t begin = document.find(kBegin);
  const size_t end = document.find(kEnd, begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) {
    throw invalid_argument("{}: marks of the tables, got none, expected '{}' and '{}'", path,
                           kBegin.substr(0, kBegin.size() - 1), kEnd.substr(0, kEnd.size() - 1));
  }
  return document.substr(0, begin + kBegin.size()) + "\n" + support_tables() + document.substr(end);
}

}  // namespace systole::app
