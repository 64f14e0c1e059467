// A program of the machine and its file. Integers are little-endian; fields of instructions:
// layout.h.
//   file     := magic:"TPUV1PRG" version:u32 array:u32 rounding:u32
//               instructions:u32 tiles:u32 constants:u32 ports:u32 bytes:u64
//               instruction{instructions} tile{tiles} constant{constants} port{ports}
//   bytes    := the length of the file
//   tile     := index:u32 weight:u8{array * array}    row-major: row k has the weights of input k
//   constant := offset:u64 size:u32 byte{size}        initial contents of host memory
//   port     := output:u8 element:u8 size:u16 name:byte{size}
//               offset:u64 rows:u32 row_bytes:u32 stride:u32
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/file_system.h"
#include "systole/tpu_v1/isa/instruction.h"

namespace systole::tpu_v1 {

inline constexpr uint32_t kProgramVersion = 1;
// Limits of the number of rows of the matrix unit, which is square. TPU v1 has 256; figure 11 of
// the paper scales it to up to 4 times as many.
inline constexpr int kMinArray = 4;
inline constexpr int kMaxArray = 1024;

// How a 32-bit product with a multiplier is rounded (rounding.h).
enum class Rounding : uint8_t { tflite, single };

// Bytes that host memory holds before the program starts: channel tables, for example.
struct Constant {
  uint64_t offset = 0;
  std::string bytes;
  bool operator==(const Constant&) const = default;
};

enum class Element : uint8_t { s8, u8, s16 };

// A named array in host memory: `rows` rows of `row_bytes` bytes that begin `stride` bytes apart. A
// row of s16 elements holds the low bytes of its elements, then their high bytes, as the Unified
// Buffer does.
struct Port {
  std::string name;
  bool output = false;
  Element element = Element::s8;
  uint64_t offset = 0;
  uint32_t rows = 0;
  uint32_t row_bytes = 0;
  uint32_t stride = 0;
  bool operator==(const Port&) const = default;
};

struct Program {
  int array = 256;  // rows and columns of the matrix unit that it is made for
  Rounding rounding = Rounding::tflite;
  std::vector<Instruction> instructions;
  std::map<uint32_t, std::string> tiles;  // index in weight memory -> array * array bytes
  std::vector<Constant> constants;
  std::vector<Port> ports;

  bool operator==(const Program&) const = default;
  // Errors: NOT_FOUND.
  const Port& port(std::string_view name) const;
};

// Serializes a program. Errors: those of encode(); INVALID_ARGUMENT for a weight tile whose size
// does not match the program's array.
std::string write_program(const Program& program);
// Parses the contents of a program file; errors name `path`. Errors: INVALID_ARGUMENT for an
// unknown magic number or version, an unsupported array size, or malformed contents; DATA_LOSS if
// the length differs from the one in the header.
Program read_program(std::string_view bytes, const std::string& path);

// Write and read a program file. Errors: those above and those of the file system.
void save_program(FileSystem& file_system, const std::string& path, const Program& program);
Program load_program(FileSystem& file_system, const std::string& path);

}  // namespace systole::tpu_v1
