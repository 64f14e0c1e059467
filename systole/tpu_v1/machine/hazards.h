// What an instruction reads and writes, and whether the program orders it after the instructions
// that it depends on.
//
// The units of the machine work at the same time. An instruction may only touch a row that an
// earlier instruction of another unit touches after a sync on it. A read of the Unified Buffer
// needs a sync_buffer on the writer, even if the unit itself wrote the row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "systole/tpu_v1/isa/instruction.h"
#include "systole/tpu_v1/machine/config.h"

namespace systole::tpu_v1 {

enum class Memory : uint8_t { buffer, accumulators };

// Rows that an instruction touches.
struct Access {
  Memory memory = Memory::buffer;
  int64_t first = 0;
  int64_t rows = 0;
  bool write = false;
};

// Rows of the parameters of activate: four of biases, four of multipliers, one of shifts.
inline constexpr int64_t kChannelTableRows = 9;

// Returns the vectors that an instruction of the matrix unit multiplies.
int64_t matrix_vectors(const Instruction& instruction, const Registers& registers);
// Returns the vectors that an instruction of the activation unit writes, after pooling.
int64_t result_vectors(const Instruction& instruction, const Registers& registers);

// Returns the rows that an instruction touches. Errors: OUT_OF_RANGE for rows that a memory does
// not have; INVALID_ARGUMENT for sizes in registers that are not positive or do not agree with the
// instruction. `index` is for messages.
std::vector<Access> accesses_of(const Instruction& instruction, const Registers& registers,
                                const MachineConfig& config, int64_t index);

// A sync that an instruction needs before it.
struct Wait {
  Unit on = Unit::host_in;
  int64_t behind = 0;
  bool buffer = false;  // a sync_buffer
};

// Follows a program. Not thread-safe.
class HazardTracker {
 public:
  explicit HazardTracker(const MachineConfig& config);

  // Returns the syncs that are missing before an instruction.
  std::vector<Wait> missing(Unit unit, std::span<const Access> accesses) const;
  // Errors: FAILED_PRECONDITION for a read of a row that nothing wrote and for a missing sync, with
  // the kind of hazard (read after write, write after read, write after write), the row and both
  // instructions.
  void check(const Instruction& instruction, int64_t index, std::span<const Access> accesses) const;
  // Records an instruction of a unit.
  void issue(Unit unit, std::span<const Access> accesses, int64_t index);
  // Records a sync or a sync_buffer.
  void sync(const Instruction& instruction);
  // Returns how many rows of the Unified Buffer were touched, from row 0 to the last one.
  int64_t buffer_rows_used() const { return buffer_used_; }

 private:
  using Sequence =
      std::array<int32_t, kUnits>;  // by unit: number of its instruction, from 1; 0: none
  struct Row {
    Sequence readers{};
    int32_t writer = 0;
    int32_t writer_index = -1;  // in the program
    Unit writer_unit = Unit::host_in;
    bool operator==(const Row&) const = default;
  };
  struct Needs;
  Needs needs_of(Unit unit, std::span<const Access> accesses) const;
  const std::vector<Row>& rows_of(Memory memory) const {
    return memory == Memory::buffer ? buffer_ : accumulators_;
  }

  std::vector<Row> buffer_;
  std::vector<Row> accumulators_;
  Sequence issued_{};
  std::array<Sequence, kUnits> known_{};         // [waiter][on]: finished by then
  std::array<Sequence, kUnits> known_buffer_{};  // the same, writes visible
  int64_t buffer_used_ = 0;
};

}  // namespace systole::tpu_v1
