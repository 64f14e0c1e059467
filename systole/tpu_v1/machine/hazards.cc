#include "systole/tpu_v1/machine/hazards.h"

#include <algorithm>

#include "systole/base/error.h"

namespace systole::tpu_v1 {
namespace {

constexpr int64_t kMaxSize = 1 << 16;  // of an image or a stride

int64_t plane_count(const Instruction& instruction, uint16_t flag) {
  return (instruction.flags & flag) != 0 ? 2 : 1;
}

bool pools(const Instruction& instruction) {
  return (instruction.flags & (kMaxPool | kAveragePool)) != 0;
}

void check_sizes(const Registers& registers, std::initializer_list<Register> sizes, int64_t index,
                 std::string_view name) {
  for (const Register size : sizes) {
    if (registers[size] < 1 || registers[size] > kMaxSize) {
      throw invalid_argument("instruction {} ({}): register {}, got {}, expected 1 to {}", index,
                             name, name_of(size), registers[size], kMaxSize);
    }
  }
}

// Collects accesses and checks that they are inside their memories.
class AccessList {
 public:
  AccessList(const Instruction& instruction, const MachineConfig& config, int64_t index)
      : instruction_(instruction), config_(config), index_(index) {}

  void add(Memory memory, int64_t first, int64_t rows, bool write) {
    const bool buffer = memory == Memory::buffer;
    const int64_t size = buffer ? config_.buffer_rows() : config_.accumulators;
    if (first < 0 || first > size || rows > size - first) {
      throw make_error(
          Code::out_of_range, "instruction {} ({}): rows of the {}, got {} to {}, expected 0 to {}",
          index_, name_of(instruction_.opcode), buffer ? "Unified Buffer" : "accumulators", first,
          first + rows - 1, size - 1);
    }
    if (rows > 0) list_.push_back({memory, first, rows, write});
  }
  std::vector<Access> take() { return std::move(list_); }

 private:
  const Instruction& instruction_;
  const MachineConfig& config_;
  int64_t index_;
  std::vector<Access> list_;
};

void matrix_accesses(const Instruction& i, const Registers& r, int64_t index, AccessList& list) {
  const int64_t planes = plane_count(i, kInput16);
  if (i.opcode == Opcode::convolve) {
    check_sizes(r,
                {Register::conv_images, Register::conv_height, Register::conv_width,
                 Register::conv_stride_y, Register::conv_stride_x},
                index, name_of(i.opcode));
    list.add(Memory::buffer, i.ub,
             r[Register::conv_images] * r[Register::conv_height] * r[Register::conv_width] * planes,
             false);
  } else {
    list.add(Memory::buffer, i.ub, i.rows * planes, false);
  }
  const int64_t vectors = matrix_vectors(i, r);
  if ((i.flags & kOverwrite) == 0) list.add(Memory::accumulators, i.acc, vectors, false);
  list.add(Memory::accumulators, i.acc, vectors, true);
}

void activation_accesses(const Instruction& i, const Registers& r, int64_t index,
                         AccessList& list) {
  if (pools(i)) {
    check_sizes(r,
                {Register::pool_images, Register::pool_height, Register::pool_width,
                 Register::pool_window_y, Register::pool_window_x, Register::pool_stride_y,
                 Register::pool_stride_x, Register::pool_out_height, Register::pool_out_width},
                index, name_of(i.opcode));
    const int64_t positions =
        r[Register::pool_images] * r[Register::pool_height] * r[Register::pool_width];
    if (positions != i.rows) {
      throw invalid_argument(
          "instruction {} ({}): pooled rows, got {}, expected {} of the pool registers", index,
          name_of(i.opcode), i.rows, positions);
    }
  }
  if (i.opcode == Opcode::activate) {
    list.add(Memory::accumulators, i.acc, i.rows, false);
    if ((i.flags & kRaw) == 0)
      list.add(Memory::buffer, r[Register::channel_table], kChannelTableRows, false);
  } else {
    list.add(Memory::buffer, i.source, i.rows * plane_count(i, kA16), false);
    if ((i.flags & (kAdd | kMultiply)) != 0) {
      list.add(Memory::buffer, r[Register::vector_b], i.rows * plane_count(i, kB16), false);
    }
  }
  list.add(Memory::buffer, i.ub, result_vectors(i, r) * plane_count(i, kOutput16), true);
}

}  // namespace

int64_t matrix_vectors(const Instruction& instruction, const Registers& registers) {
  if (instruction.opcode == Opcode::matmul) return instruction.rows;
  return registers[Register::conv_images] * instruction.height * instruction.width;
}

int64_t result_vectors(const Instruction& instruction, const Registers& registers) {
  if (!pools(instruction)) return instruction.rows;
  return registers[Register::pool_images] * registers[Register::pool_out_height] *
         registers[Register::pool_out_width];
}

std::vector<Access> accesses_of(const Instruction& instruction, const Registers& registers,
                                const MachineConfig& config, int64_t index) {
  AccessList list(instruction, config, index);
  switch (unit_of(instruction.opcode)) {
    case static_cast<int>(Unit::host_in):
      list.add(Memory::buffer, instruction.ub, instruction.rows, true);
      break;
    case static_cast<int>(Unit::host_out):
      list.add(Memory::buffer, instruction.ub, instruction.rows, false);
      break;
    case static_cast<int>(Unit::matrix):
      matrix_accesses(instruction, registers, index, list);
      break;
    case static_cast<int>(Unit::activation):
      activation_accesses(instruction, registers, index, list);
      break;
    default:
      break;
  }
  return list.take();
}

// The latest instructions of each unit that an instruction depends on.
struct HazardTracker::Needs {
  struct Cause {
    std::string_view kind;
    int64_t row = 0;
    int64_t writer_index = -1;  // -1: a reader, whose place in the program is not kept
  };
  Sequence plain{};
  Sequence buffer{};
  std::array<Cause, kUnits> plain_cause{};
  std::array<Cause, kUnits> buffer_cause{};
};

HazardTracker::HazardTracker(const MachineConfig& config)
    : buffer_(static_cast<size_t>(config.buffer_rows())),
      accumulators_(static_cast<size_t>(config.accumulators)) {}

HazardTracker::Needs HazardTracker::needs_of(Unit unit, std::span<const Access> accesses) const {
  Needs needs;
  const auto own = static_cast<size_t>(unit);
  const auto raise = [](Sequence& sequence, std::array<Needs::Cause, kUnits>& causes, size_t on,
                        int32_t value, const Needs::Cause& cause) {
    if (value <= sequence[on]) return;
    sequence[on] = value;
    causes[on] = cause;
  };
  for (const Access& access : accesses) {
    const std::vector<Row>& rows = rows_of(access.memory);
    const Row* before = nullptr;
    for (int64_t r = access.first; r < access.first + access.rows; ++r) {
      const Row& row = rows[r];
      if (before != nullptr && *before == row) continue;  // the rows of an array mostly are equal
      before = &row;
      const auto writer = static_cast<size_t>(row.writer_unit);
      if (!access.write) {
        if (access.memory == Memory::buffer) {
          raise(needs.buffer, needs.buffer_cause, writer, row.writer,
                {"read after write", r, row.writer_index});
        } else if (writer != own) {
          raise(needs.plain, needs.plain_cause, writer, row.writer,
                {"read after write", r, row.writer_index});
        }
        continue;
      }
      if (writer != own) {
        raise(needs.plain, needs.plain_cause, writer, row.writer,
              {"write after write", r, row.writer_index});
      }
      for (size_t reader = 0; reader < kUnits; ++reader) {
        if (reader == own) continue;
        raise(needs.plain, needs.plain_cause, reader, row.readers[reader],
              {"write after read", r, -1});
      }
    }
  }
  return needs;
}

std::vector<Wait> HazardTracker::missing(Unit unit, std::span<const Access> accesses) const {
  const Needs needs = needs_of(unit, accesses);
  const auto own = static_cast<size_t>(unit);
  std::vector<Wait> waits;
  for (size_t on = 0; on < kUnits; ++on) {
    int32_t known = known_[own][on];
    if (needs.buffer[on] > known_buffer_[own][on]) {
      waits.push_back({static_cast<Unit>(on), issued_[on] - needs.buffer[on], true});
      known = std::max(known, needs.buffer[on]);
    }
    if (needs.plain[on] > known) {
      waits.push_back({static_cast<Unit>(on), issued_[on] - needs.plain[on], false});
    }
  }
  return waits;
}

void HazardTracker::check(const Instruction& instruction, int64_t index,
                          std::span<const Access> accesses) const {
  const auto unit = static_cast<Unit>(unit_of(instruction.opcode));
  const auto own = static_cast<size_t>(unit);
  const std::string_view name = name_of(instruction.opcode);
  for (const Access& access : accesses) {
    if (access.write) continue;
    const std::vector<Row>& rows = rows_of(access.memory);
    for (int64_t r = access.first; r < access.first + access.rows; ++r) {
      if (rows[r].writer != 0) continue;
      throw failed_precondition(
          "instruction {} ({}): read of {} row {}, which no instruction wrote", index, name,
          access.memory == Memory::buffer ? "Unified Buffer" : "accumulator", r);
    }
  }
  const Needs needs = needs_of(unit, accesses);
  const auto fail = [&](const Needs::Cause& cause, size_t on, std::string_view sync) {
    const std::string by = cause.writer_index < 0
                               ? std::string()
                               : fmt::format(" by instruction {}", cause.writer_index);
    throw failed_precondition(
        "instruction {} ({}): {} hazard on row {}, touched{} of unit {}, expected a {} "
        "waiter={} on={} between them",
        index, name, cause.kind, cause.row, by, kUnitNames[on], sync, name_of(unit),
        kUnitNames[on]);
  };
  for (size_t on = 0; on < kUnits; ++on) {
    const int32_t known = std::max(known_[own][on], known_buffer_[own][on]);
    if (needs.buffer[on] > known_buffer_[own][on]) fail(needs.buffer_cause[on], on, "sync_buffer");
    if (needs.plain[on] > known) fail(needs.plain_cause[on], on, "sync");
  }
}

void HazardTracker::issue(Unit unit, std::span<const Access> accesses, int64_t index) {
  const auto own = static_cast<size_t>(unit);
  const int32_t sequence = ++issued_[own];
  for (const Access& access : accesses) {
    std::vector<Row>& rows = access.memory == Memory::buffer ? buffer_ : accumulators_;
    if (access.memory == Memory::buffer)
      buffer_used_ = std::max(buffer_used_, access.first + access.rows);
    for (int64_t r = access.first; r < access.first + access.rows; ++r) {
      Row& row = rows[r];
      if (access.write) {
        row.writer = sequence;
        row.writer_index = static_cast<int32_t>(index);
        row.writer_unit = unit;
        row.readers = {};
      } else {
        row.readers[own] = sequence;
      }
    }
  }
}

void HazardTracker::sync(const Instruction& instruction) {
  const auto waiter = static_cast<size_t>(instruction.waiter);
  const auto on = static_cast<size_t>(instruction.on);
  const auto until = static_cast<int32_t>(std::max<int64_t>(issued_[on] - instruction.behind, 0));
  known_[waiter][on] = std::max(known_[waiter][on], until);
  if (instruction.opcode == Opcode::sync_buffer) {
    known_buffer_[waiter][on] = std::max(known_buffer_[waiter][on], until);
  }
}

}  // namespace systole::tpu_v1
