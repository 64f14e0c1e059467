#include "systole/tpu_v1/machine/machine.h"

#include <algorithm>
#include <cstring>

#include "systole/base/error.h"
#include "systole/tpu_v1/isa/encoding.h"

namespace systole::tpu_v1 {
namespace {

constexpr uint64_t kMaxHostBytes = uint64_t{1} << 32;

}  // namespace

Machine::Machine(const MachineConfig& config) : config_(config) {
  config_.check();
  buffer_.resize(static_cast<size_t>(config_.buffer_rows() * config_.array));
  accumulators_.resize(static_cast<size_t>(config_.accumulators * config_.array));
}

void Machine::write_host(uint64_t offset, std::span<const uint8_t> bytes) {
  if (offset > kMaxHostBytes || bytes.size() > kMaxHostBytes - offset) {
    throw make_error(Code::out_of_range,
                     "host memory: bytes, got {} from offset {}, expected at most 4 GiB",
                     bytes.size(), offset);
  }
  if (host_.size() < offset + bytes.size()) host_.resize(offset + bytes.size());
  std::copy(bytes.begin(), bytes.end(), host_.begin() + static_cast<std::ptrdiff_t>(offset));
}

std::vector<uint8_t> Machine::read_host(uint64_t offset, uint64_t size) const {
  if (offset > host_.size() || size > host_.size() - offset) {
    throw make_error(Code::out_of_range,
                     "host memory: read of {} bytes from offset {}, expected within {}", size,
                     offset, host_.size());
  }
  const auto begin = host_.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

void Machine::write_port(const Port& port, std::span<const uint8_t> rows) {
  const uint64_t expected = uint64_t{port.rows} * port.row_bytes;
  if (rows.size() != expected) {
    throw invalid_argument("port {}: bytes, got {}, expected {}", port.name, rows.size(), expected);
  }
  for (uint32_t r = 0; r < port.rows; ++r) {
    write_host(port.offset + uint64_t{r} * port.stride,
               rows.subspan(uint64_t{r} * port.row_bytes, port.row_bytes));
  }
}

std::vector<uint8_t> Machine::read_port(const Port& port) const {
  std::vector<uint8_t> rows;
  for (uint32_t r = 0; r < port.rows; ++r) {
    const std::vector<uint8_t> row =
        read_host(port.offset + uint64_t{r} * port.stride, port.row_bytes);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

void Machine::load(const Program& program) {
  if (program.array != config_.array) {
    throw invalid_argument("program: array, got {}, expected {} of the machine", program.array,
                           config_.array);
  }
  for (const auto& [tile, weights] : program.tiles) {
    if (tile >= config_.weight_tiles() ||
        static_cast<int64_t>(weights.size()) != config_.tile_bytes()) {
      throw make_error(Code::out_of_range,
                       "program: tile {} of {} bytes, expected one below {} of {} bytes", tile,
                       weights.size(), config_.weight_tiles(), config_.tile_bytes());
    }
  }
  for (const Constant& constant : program.constants) {
    write_host(constant.offset,
               {reinterpret_cast<const uint8_t*>(constant.bytes.data()), constant.bytes.size()});
  }
  hazards_ = std::make_unique<HazardTracker>(config_);
  registers_ = {};
  fifo_.clear();
  packed_tiles_.clear();
  packed_ = nullptr;
  report_ = {};
  halted_ = false;
}

RunReport Machine::run(const Program& program) {
  load(program);
  const auto count = static_cast<int64_t>(program.instructions.size());
  for (int64_t i = 0; i < count && !halted_; ++i) step(program, i);
  if (!halted_)
    throw failed_precondition("program: halt, got none in {} instructions, expected one", count);
  if (!fifo_.empty()) {
    throw failed_precondition(
        "program: weight FIFO at halt, got {} tiles that nothing took, expected none",
        fifo_.size());
  }
  report_.buffer_rows = hazards_->buffer_rows_used();
  return report_;
}

void Machine::step(const Program& program, int64_t index) {
  const Instruction& instruction = program.instructions[index];
  check_instruction(instruction, index);
  ++report_.instructions;
  const std::vector<Access> accesses = accesses_of(instruction, registers_, config_, index);
  const int unit = unit_of(instruction.opcode);
  if (unit >= 0) hazards_->check(instruction, index, accesses);
  switch (instruction.opcode) {
    case Opcode::nop:
      break;
    case Opcode::halt:
      halted_ = true;
      break;
    case Opcode::read_host:
    case Opcode::read_host_strided:
      read_host_rows(instruction, index);
      break;
    case Opcode::read_weights:
      read_weights(instruction, index);
      break;
    case Opcode::matmul:
    case Opcode::convolve:
      matrix(program, instruction, index);
      break;
    case Opcode::activate:
      activate(program, instruction, index);
      break;
    case Opcode::vector:
      vector(program, instruction, index);
      break;
    case Opcode::write_host:
    case Opcode::write_host_strided:
      write_host_rows(instruction);
      break;
    case Opcode::sync:
    case Opcode::sync_buffer:
      hazards_->sync(instruction);
      break;
    case Opcode::set:
      registers_.set(static_cast<Register>(instruction.reg), instruction.value);
      break;
    case Opcode::interrupt:
      report_.interrupts.push_back(instruction.code);
      break;
    case Opcode::debug:
      report_.tags.push_back(instruction.code);
      break;
  }
  if (unit >= 0) hazards_->issue(static_cast<Unit>(unit), accesses, index);
}

HostRows host_rows_of(const Instruction& instruction, const Registers& registers,
                      const MachineConfig& config) {
  const bool strided = instruction.opcode == Opcode::read_host_strided ||
                       instruction.opcode == Opcode::write_host_strided;
  const int64_t asked = registers[Register::host_row_bytes];
  const int64_t bytes = asked == 0 ? config.array : asked;
  if (bytes < 1 || bytes > config.array) {
    throw invalid_argument("{}: register host_row_bytes, got {}, expected 0 to {}",
                           name_of(instruction.opcode), asked, config.array);
  }
  const int64_t stride = strided ? registers[Register::host_stride] : bytes;
  if (stride < 0 || stride > (int64_t{1} << 32)) {
    throw invalid_argument("{}: register host_stride, got {}, expected 0 to 2^32",
                           name_of(instruction.opcode), stride);
  }
  return {.bytes = bytes, .stride = stride};
}

void Machine::read_host_rows(const Instruction& instruction, int64_t index) {
  const HostRows rows = host_rows_of(instruction, registers_, config_);
  for (int64_t r = 0; r < instruction.rows; ++r) {
    const auto offset = static_cast<uint64_t>(instruction.host + r * rows.stride);
    if (offset + static_cast<uint64_t>(rows.bytes) > host_.size()) {
      throw make_error(Code::out_of_range,
                       "instruction {} ({}): host memory, got {} to {}, expected below {}", index,
                       name_of(instruction.opcode), offset,
                       offset + static_cast<uint64_t>(rows.bytes) - 1, host_.size());
    }
    uint8_t* to = buffer_row(instruction.ub + r);
    std::memcpy(to, host_.data() + offset, static_cast<size_t>(rows.bytes));
    std::fill(to + rows.bytes, to + config_.array,
              static_cast<uint8_t>(registers_[Register::fill]));
  }
}

void Machine::write_host_rows(const Instruction& instruction) {
  const HostRows rows = host_rows_of(instruction, registers_, config_);
  for (int64_t r = 0; r < instruction.rows; ++r) {
    write_host(static_cast<uint64_t>(instruction.host + r * rows.stride),
               {buffer_row(instruction.ub + r), static_cast<size_t>(rows.bytes)});
  }
}

void Machine::read_weights(const Instruction& instruction, int64_t index) {
  if (instruction.rows > config_.array || instruction.columns > config_.array) {
    throw make_error(Code::out_of_range,
                     "instruction {} (read_weights): useful part of a tile, got {}x{}, expected "
                     "at most {}x{}",
                     index, instruction.rows, instruction.columns, config_.array, config_.array);
  }
  for (int64_t i = 0; i < instruction.repeat; ++i) {
    if (instruction.tile + i >= config_.weight_tiles()) {
      throw make_error(Code::out_of_range,
                       "instruction {} (read_weights): tile, got {}, expected below {}", index,
                       instruction.tile + i, config_.weight_tiles());
    }
    if (static_cast<int>(fifo_.size()) >= config_.fifo_tiles) {
      throw failed_precondition(
          "instruction {} (read_weights): weight FIFO overflow, got {} tiles that no matmul "
          "has taken, expected at most {}",
          index, fifo_.size() + 1, config_.fifo_tiles);
    }
    fifo_.push_back(
        {static_cast<uint32_t>(instruction.tile + i), instruction.rows, instruction.columns});
  }
}

void Machine::count_overflow(int64_t index, int64_t count) {
  if (count == 0) return;
  if (report_.overflows == 0) report_.first_overflow = index;
  report_.overflows += count;
}

}  // namespace systole::tpu_v1
