#include <fmt/format.h>

#include "systole/tpu_v1/assembler/assembler.h"
#include "systole/tpu_v1/isa/encoding.h"

namespace systole::tpu_v1 {
namespace {

constexpr size_t kBytesPerLine = 48;
constexpr size_t kMinRun = 8;  // equal bytes that are written with '*'

size_t run_length(std::string_view bytes, size_t begin) {
  size_t end = begin;
  while (end < bytes.size() && bytes[end] == bytes[begin]) ++end;
  return end - begin;
}

std::string hex_lines(std::string_view bytes) {
  std::string out;
  size_t on_line = 0;
  bool joined = false;  // the last bytes are a token that may grow
  for (size_t i = 0; i < bytes.size();) {
    const size_t run = run_length(bytes, i);
    const bool repeated = run >= kMinRun;
    const size_t count = repeated ? run : 1;
    if (on_line >= kBytesPerLine) {
      out += "\n+";
      on_line = 0;
      joined = false;
    }
    if (!joined || repeated) out += ' ';
    out += fmt::format("{:02x}", static_cast<uint8_t>(bytes[i]));
    if (repeated) out += fmt::format("*{}", run);
    joined = !repeated;
    on_line += repeated ? kMinRun : 1;
    i += count;
  }
  return out;
}

std::string data_text(std::string_view directive, uint64_t where, std::string_view bytes,
                      bool data) {
  if (!data) return fmt::format("; {} {}: {} bytes\n", directive, where, bytes.size());
  return fmt::format("{} {}{}\n", directive, where, hex_lines(bytes));
}

constexpr std::string_view kElementText[] = {"s8", "u8", "s16"};

}  // namespace

std::string to_text(const Instruction& instruction) {
  std::string out(name_of(instruction.opcode));
  for (const FlagName& flag : flags_of(instruction.opcode)) {
    if ((instruction.flags & flag.bit) != 0) out += fmt::format(".{}", flag.name);
  }
  if (instruction.opcode == Opcode::set) {
    return fmt::format("{} {}={}", out, name_of(static_cast<Register>(instruction.reg)),
                       instruction.value);
  }
  for (const FieldLayout& field : fields_of(instruction.opcode)) {
    const int64_t value = instruction.*field.member;
    if (field.kind == FieldKind::unit) {
      out += fmt::format(" {}={}", field.name, name_of(static_cast<Unit>(value)));
    } else if (field.kind == FieldKind::number && (value != 0 || field.name != "behind")) {
      out += fmt::format(" {}={}", field.name, value);
    }
  }
  return out;
}

std::string disassemble(const Program& program, bool data) {
  std::string out = fmt::format(".array {}\n.rounding {}\n", program.array,
                                program.rounding == Rounding::tflite ? "tflite" : "single");
  for (const Port& port : program.ports) {
    out += fmt::format("{} {} element={} offset={} rows={} bytes={} stride={}\n",
                       port.output ? ".output" : ".input", port.name,
                       kElementText[static_cast<size_t>(port.element)], port.offset, port.rows,
                       port.row_bytes, port.stride);
  }
  for (const Constant& constant : program.constants) {
    out += data_text(".constant", constant.offset, constant.bytes, data);
  }
  for (const auto& [tile, weights] : program.tiles) out += data_text(".tile", tile, weights, data);
  int64_t index = 0;
  for (const Instruction& instruction : program.instructions) {
    check_instruction(instruction, index++);
    out += to_text(instruction) + "\n";
  }
  return out;
}

}  // namespace systole::tpu_v1
