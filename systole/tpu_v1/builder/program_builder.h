// Builds programs instruction by instruction and adds the syncs that they need.
//
//   ProgramBuilder builder(config);
//   const uint32_t tile = builder.add_tile(weights);
//   builder.read_host({.ub = 0, .rows = 200, .host = 0});
//   builder.read_weights(tile, 256, 256);
//   // a sync_buffer on host_in comes before this
//   builder.matmul(kNext | kOverwrite, {.ub = 0, .acc = 0, .rows = 200});
//   ...
//   Program program = std::move(builder).finish();
#pragma once

#include <cstdint>
#include <string>

#include "systole/tpu_v1/isa/program.h"
#include "systole/tpu_v1/machine/config.h"
#include "systole/tpu_v1/machine/hazards.h"

namespace systole::tpu_v1 {

// Not thread-safe. Errors of all methods that add instructions: those of encode() and
// accesses_of().
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const MachineConfig& config, Rounding rounding = Rounding::tflite);

  const MachineConfig& config() const { return config_; }

  // Stores a weight tile (array * array bytes, row-major) and returns its index in the weight
  // memory. Errors: RESOURCE_EXHAUSTED if the memory is full.
  uint32_t add_tile(std::string weights);
  // Returns the index of a tile without contents, for programs that are only timed.
  uint32_t reserve_tile();
  // Returns the offset of new bytes in host memory.
  int64_t allocate_host(int64_t bytes);
  // Places bytes in host memory before the program starts, and returns their offset.
  int64_t add_constant(std::string bytes);
  // Places bytes at an offset of allocate_host().
  void place_constant(int64_t offset, std::string bytes) {
    program_.constants.push_back({static_cast<uint64_t>(offset), std::move(bytes)});
  }
  void add_port(Port port) { program_.ports.push_back(std::move(port)); }

  // Where rows are. Fields that an instruction does not have are ignored.
  struct Rows {
    int64_t ub = 0;
    int64_t acc = 0;
    int64_t source = 0;
    int64_t rows = 0;
    int64_t host = 0;
  };
  // Sets a register, unless it has the value.
  void set(Register reg, int64_t value);
  // Rows of `row_bytes` bytes (0: whole rows); dense, or `stride` bytes apart.
  void read_host(const Rows& rows, int64_t row_bytes = 0, int64_t stride = 0);
  void write_host(const Rows& rows, int64_t row_bytes = 0, int64_t stride = 0);
  // `rows` and `columns` are the useful part of the tile.
  void read_weights(uint32_t tile, int64_t rows, int64_t columns);
  void matmul(int64_t flags, const Rows& rows);
  void convolve(int64_t flags, int64_t ub, int64_t acc, int64_t height, int64_t width);
  void activate(int64_t flags, const Rows& rows);
  // `b` is the row of the second operand.
  void vector(int64_t flags, const Rows& rows, int64_t b = 0);

  // Adds the syncs that `unit` needs before it touches rows. A layer that waits once for all of its
  // input needs one sync, not one for each instruction.
  void wait(Unit unit, std::span<const Access> accesses);
  // Adds any instruction, after the syncs that it needs.
  void emit(const Instruction& instruction);

  // Returns the program with a halt at its end.
  Program finish() &&;

 private:
  MachineConfig config_;
  Program program_;
  Registers registers_;
  HazardTracker hazards_;
  uint32_t next_tile_ = 0;
  int64_t host_bytes_ = 0;
};

// Returns the bytes of a channel table: the parameters of activate for up to `array` columns.
// Missing columns are 0.
std::string channel_table_bytes(int array, std::span<const int32_t> bias,
                                std::span<const int32_t> multipliers,
                                std::span<const int8_t> shifts);

}  // namespace systole::tpu_v1
