// The instructions of the TPU v1 machine.
//
// The paper (Jouppi et al., ISCA 2017, section 2) names about a dozen CISC instructions and prints
// the size of one: MatrixMultiply/Convolve has 12 bytes, 3 for the Unified Buffer address, 2 for
// the accumulator address, 4 for the length ("sometimes 2 dimensions for convolutions"), the rest
// for opcode and flags. Every other encoding here is ours. All instructions have 12 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace systole::tpu_v1 {

enum class Opcode : uint8_t {
  nop = 0,
  halt = 1,
  read_host = 2,          // Read_Host_Memory: host memory -> Unified Buffer
  read_host_strided = 3,  // alternate form: rows `host_stride` bytes apart
  read_weights = 4,       // Read_Weights: weight memory -> weight FIFO
  matmul = 5,             // MatrixMultiply: Unified Buffer -> accumulators
  convolve = 6,           // one kernel position of a convolution over whole images
  activate = 7,           // accumulators -> function, requantization, pooling -> Unified Buffer
  vector = 8,             // Unified Buffer -> element-wise arithmetic -> Unified Buffer (ours)
  write_host = 9,         // Write_Host_Memory: Unified Buffer -> host memory
  write_host_strided = 10,
  sync = 11,         // orders two units
  sync_buffer = 12,  // orders two units and makes writes to the Unified Buffer visible
  set = 13,          // sets a configuration register
  interrupt = 14,    // interrupts the host
  debug = 15,        // leaves a tag in the trace
};
inline constexpr int kOpcodes = 16;

// The stages that work at the same time. Each takes its instructions in program order.
enum class Unit : uint8_t { host_in, weights, matrix, activation, host_out };
inline constexpr int kUnits = 5;
inline constexpr std::array<std::string_view, kUnits> kUnitNames = {"host_in", "weights", "matrix",
                                                                    "activation", "host_out"};

// Flags of matmul and convolve. Without `overwrite` products are added to the accumulators.
inline constexpr uint16_t kNext = 1;             // take the next weight tile of the FIFO first
inline constexpr uint16_t kOverwrite = 2;        // replace the accumulators
inline constexpr uint16_t kUnsignedInput = 4;    // activations are unsigned, otherwise signed
inline constexpr uint16_t kUnsignedWeights = 8;  // weights are unsigned, otherwise signed
inline constexpr uint16_t kInput16 = 16;         // 16-bit activations: half speed
inline constexpr uint16_t kWeights16 = 32;       // 16-bit weights: half the columns
inline constexpr uint16_t kHighBytes = 64;  // with kInput16: the high bytes only, at full speed
// Flags of activate and vector. At most one function and one kind of pooling.
inline constexpr uint16_t kRelu = 1;
inline constexpr uint16_t kSigmoid = 2;
inline constexpr uint16_t kTanh = 4;
inline constexpr uint16_t kMaxPool = 8;
inline constexpr uint16_t kAveragePool = 16;
inline constexpr uint16_t kOutput16 = 32;  // two rows of results: low bytes, high bytes
inline constexpr uint16_t kUnsignedOutput = 64;
inline constexpr uint16_t kRaw = 128;  // activate: low 8 bits, no requantization
// Flags of vector. Without `add` and `multiply` it copies its first operand.
inline constexpr uint16_t kAdd = 256;
inline constexpr uint16_t kMultiply = 512;
inline constexpr uint16_t kA16 = 1024;  // the first operand has 16 bits
inline constexpr uint16_t kB16 = 2048;  // the second operand has 16 bits
inline constexpr uint16_t kUnsignedOperands = 4096;

// Configuration registers. An instruction sees the values set before it in the program.
enum class Register : uint8_t {
  fill,            // byte that padded positions and short rows hold: the zero point
  host_row_bytes,  // bytes of a row in host memory; 0: a whole row
  host_stride,     // bytes between rows in host memory, for the strided forms
  conv_images,
  conv_height,
  conv_width,  // size of the input
  conv_stride_y,
  conv_stride_x,
  conv_offset_y,
  conv_offset_x,  // input position that output (0, 0) reads, may be negative
  pool_images,
  pool_height,
  pool_width,  // size of the input of pooling
  pool_window_y,
  pool_window_x,
  pool_stride_y,
  pool_stride_x,
  pool_offset_y,
  pool_offset_x,  // -padding
  pool_out_height,
  pool_out_width,
  channel_table,  // Unified Buffer row of the bias, multipliers and shifts of activate
  output_zero,
  output_min,
  output_max,  // zero point and bounds of results
  vector_b,    // Unified Buffer row of the second operand of vector
  a_zero,
  a_multiplier,
  a_shift,
  b_zero,
  b_multiplier,
  b_shift,
  out_multiplier,
  out_shift,
  left_shift,  // of the operands of add, before they are scaled
};
inline constexpr int kRegisters = 35;

// One instruction. Each opcode uses the fields that its layout (layout.h) names; the others are 0.
struct Instruction {
  Opcode opcode = Opcode::nop;
  int64_t flags = 0;
  int64_t ub = 0;       // row of the Unified Buffer
  int64_t acc = 0;      // row of the accumulators
  int64_t source = 0;   // row of the Unified Buffer of vector's first operand
  int64_t rows = 0;     // vectors; useful rows of a weight tile
  int64_t columns = 0;  // useful columns of a weight tile
  int64_t height = 0;   // output lines of an image
  int64_t width = 0;    // output columns of an image
  int64_t repeat = 0;   // consecutive weight tiles
  int64_t tile = 0;     // index into the weight memory
  int64_t host = 0;     // byte offset in host memory
  int64_t waiter = 0;   // Unit that waits
  int64_t on = 0;       // Unit waited for
  int64_t behind = 0;   // how many of its latest instructions are not waited for
  int64_t reg = 0;      // Register
  int64_t value = 0;    // new value of the register
  int64_t code = 0;     // of interrupt and debug

  bool operator==(const Instruction&) const = default;
};

// Returns whether a product reads only the high bytes of its 16-bit activations, each worth 256.
constexpr bool reads_high_bytes(const Instruction& instruction) {
  constexpr int64_t kBoth = kInput16 | kHighBytes;
  return (instruction.flags & kBoth) == kBoth;
}

// The values of all registers.
class Registers {
 public:
  Registers();
  int64_t operator[](Register r) const { return values_[static_cast<size_t>(r)]; }
  void set(Register r, int64_t value) { values_[static_cast<size_t>(r)] = value; }
  bool operator==(const Registers&) const = default;

 private:
  std::array<int64_t, kRegisters> values_{};
};

// Returns the name in assembler text: "matmul", "conv_height".
std::string_view name_of(Opcode opcode);
std::string_view name_of(Register reg);
std::string_view name_of(Unit unit);

// Returns the unit that executes an opcode, or -1 for those that finish when they are issued.
int unit_of(Opcode opcode);

}  // namespace systole::tpu_v1
