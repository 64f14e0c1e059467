#include <charconv>

#include "systole/base/error.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/bytecode/encoding.h"
#include "systole/stablehlo/bytecode/program_reader.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

// Replaces the place in the text, `<file>:<line>:<column>: `, by the op's offset in the file.
Error with_offset(const Error& error, std::string_view file, const std::vector<size_t>& offsets) {
  const std::string& message = error.message();
  const std::string prefix = fmt::format("{}:", file);
  if (!message.starts_with(prefix)) return error;
  const char* const begin = message.data() + prefix.size();
  const char* const end = message.data() + message.size();
  size_t line = 0;
  size_t column = 0;
  const auto [colon, no_line] = std::from_chars(begin, end, line);
  if (no_line != std::errc() || colon == end || *colon != ':') return error;
  const auto [rest, no_column] = std::from_chars(colon + 1, end, column);
  if (no_column != std::errc() || line == 0 || offsets.empty()) return error;
  const size_t offset = offsets[std::min(line, offsets.size()) - 1];
  return {error.code(), fmt::format("{}: byte {}{}", file, offset, std::string_view(rest, end))};
}

}  // namespace

bool is_bytecode(std::string_view bytes) { return bytes.starts_with(bytecode::kMagic); }

std::string bytecode_to_text(std::string_view bytes, std::string_view file) {
  return bytecode::read_program(bytecode::read_container(bytes, file)).text;
}

std::unique_ptr<Module> read_bytecode(std::string_view bytes, std::string_view file) {
  const bytecode::ProgramText program =
      bytecode::read_program(bytecode::read_container(bytes, file));
  try {
    return parse(program.text, file);
  } catch (const Error& error) {
    throw with_offset(error, file, program.offsets);
  }
}

std::vector<std::unique_ptr<Module>> read_modules(std::string_view bytes, std::string_view file) {
  if (!is_bytecode(bytes)) return parse_all(bytes, file);
  std::vector<std::unique_ptr<Module>> modules;
  modules.push_back(read_bytecode(bytes, file));
  return modules;
}

}  // namespace systole::hlo
