// The value machine: runs a program exactly, bit for bit, without timing (timing/ has that).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"
#include "systole/tpu_v1/machine/hazards.h"
#include "systole/tpu_v1/machine/product.h"

namespace systole::tpu_v1 {

// Rows in host memory, as the registers describe them: bytes of a row, bytes between starts of
// rows.
struct HostRows {
  int64_t bytes = 0;
  int64_t stride = 0;
};
// Errors: INVALID_ARGUMENT for values that no row can have.
HostRows host_rows_of(const Instruction& instruction, const Registers& registers,
                      const MachineConfig& config);

// The parameters of activate, by column.
struct ChannelTable {
  std::vector<int32_t> bias;
  std::vector<int32_t> multiplier;
  std::vector<int> shift;
  size_t used = 0;  // columns up to the last one with a bias or a factor
};

// What a run did.
struct RunReport {
  int64_t instructions = 0;
  int64_t overflows = 0;        // sums that left 32 bits; they wrapped
  int64_t first_overflow = -1;  // the instruction of the first one
  int64_t multiply_adds = 0;    // of rows times useful weights of tiles
  int64_t buffer_rows = 0;      // high-water mark of the Unified Buffer
  std::vector<int64_t> interrupts;
  std::vector<int64_t> tags;  // of debug instructions
};

// Arithmetic:
//  - matmul and convolve add exact products to 32-bit accumulators. Sums wrap, and the report
//    counts those that do. A vector of 16-bit activations takes two rows: the low bytes, then the
//    high bytes. With the flag high_bytes only the high bytes are multiplied, each as 256 times its
//    value. A tile of 16-bit weights has the low and the high byte of output j in columns 2j and
//    2j + 1, so its results fill the first half of a row.
//  - activate adds a bias to each column's sum, multiplies it by the column's factor (rounding.h),
//    applies the function, adds the zero point, clamps and pools. Its parameters are nine rows of
//    the Unified Buffer from register channel_table: biases and multipliers (32-bit,
//    little-endian), then shifts (signed bytes).
//  - vector subtracts the zero points from a and b. add: the sum of (a << left_shift) and
//    (b << left_shift), each times its multiplier; multiply: a * b; else a. Then it applies the
//    output multiplier, the function and the zero point, clamps and pools.
// Errors name the instruction: OUT_OF_RANGE for addresses that a memory does not have;
// FAILED_PRECONDITION for reads of rows and tiles that nothing wrote, an empty or full weight FIFO,
// a missing sync, and a program without halt; INVALID_ARGUMENT for bad sizes, shifts and
// multipliers. Not thread-safe.
class Machine {
 public:
  explicit Machine(const MachineConfig& config = {});

  // Copies bytes into host memory, which grows up to 4 GiB. Errors: OUT_OF_RANGE.
  void write_host(uint64_t offset, std::span<const uint8_t> bytes);
  // Errors: OUT_OF_RANGE beyond what was written.
  std::vector<uint8_t> read_host(uint64_t offset, uint64_t size) const;
  // Copies dense rows to and from a port of a program: rows * row_bytes bytes. Errors:
  // INVALID_ARGUMENT for another size.
  void write_port(const Port& port, std::span<const uint8_t> rows);
  std::vector<uint8_t> read_port(const Port& port) const;

  // Loads the program's weights and constants and runs it. Host memory stays between runs; the
  // memories on chip do not.
  RunReport run(const Program& program);

 private:
  void load(const Program& program);
  void step(const Program& program, int64_t index);
  void read_host_rows(const Instruction& instruction, int64_t index);
  void write_host_rows(const Instruction& instruction);
  void read_weights(const Instruction& instruction, int64_t index);
  void next_tile(const Program& program, const Instruction& instruction, int64_t index);
  void matrix(const Program& program, const Instruction& instruction, int64_t index);
  void gather(const Instruction& instruction, int64_t first, int64_t count, int64_t plane,
              std::vector<uint8_t>& rows) const;
  int64_t accumulate(const Instruction& instruction, int64_t first, int64_t count,
                     std::span<const std::vector<int32_t>> planes);
  static int64_t add_products(const int32_t* products, int64_t columns, bool overwrite,
                              int32_t* sums);
  void activate(const Program& program, const Instruction& instruction, int64_t index);
  void vector(const Program& program, const Instruction& instruction, int64_t index);
  void store(const Instruction& instruction, std::span<const int32_t> values, int64_t first_row);
  void finish(const Instruction& instruction, int64_t used, std::vector<int32_t>& values);
  ChannelTable channel_table(int64_t index) const;
  void load_operand(int64_t row, bool wide, bool is_unsigned, std::vector<int32_t>& values) const;
  void count_overflow(int64_t index, int64_t count);
  uint8_t* buffer_row(int64_t row) { return buffer_.data() + row * config_.array; }
  const uint8_t* buffer_row(int64_t row) const { return buffer_.data() + row * config_.array; }

  MachineConfig config_;
  std::vector<uint8_t> host_;
  std::vector<uint8_t> buffer_;
  std::vector<int32_t> accumulators_;
  Registers registers_;
  std::unique_ptr<HazardTracker> hazards_;
  struct Tile {
    uint32_t index = 0;
    int64_t rows = 0;
    int64_t columns = 0;
  };
  std::deque<Tile> fifo_;
  Tile in_array_;
  // By tile and flags. A program runs its tiles many times.
  std::map<std::pair<uint32_t, int64_t>, std::unique_ptr<PackedTile>> packed_tiles_;
  PackedTile* packed_ = nullptr;  // null before the first tile
  int64_t packed_flags_ = 0;
  RunReport report_;
  bool halted_ = false;
};

}  // namespace systole::tpu_v1
