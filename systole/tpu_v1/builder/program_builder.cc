#include "systole/tpu_v1/builder/program_builder.h"

#include <algorithm>

#include "systole/base/error.h"
#include "systole/tpu_v1/isa/encoding.h"

namespace systole::tpu_v1 {
namespace {

constexpr int64_t kHostAlignment = 64;

void put_s32(std::string& out, int32_t value) {
  for (int i = 0; i < 4; ++i)
    out.push_back(static_cast<char>(static_cast<uint32_t>(value) >> (8 * i)));
}

}  // namespace

ProgramBuilder::ProgramBuilder(const MachineConfig& config, Rounding rounding)
    : config_(config), hazards_(config) {
  config_.check();
  program_.array = config.array;
  program_.rounding = rounding;
}

uint32_t ProgramBuilder::reserve_tile() {
  if (next_tile_ >= config_.weight_tiles()) {
    throw make_error(Code::resource_exhausted, "weight memory: tiles, got {}, expected at most {}",
                     int64_t{next_tile_} + 1, config_.weight_tiles());
  }
  return next_tile_++;
}

uint32_t ProgramBuilder::add_tile(std::string weights) {
  const uint32_t tile = reserve_tile();
  program_.tiles.emplace(tile, std::move(weights));
  return tile;
}

int64_t ProgramBuilder::allocate_host(int64_t bytes) {
  const int64_t offset = host_bytes_;
  host_bytes_ += (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  return offset;
}

int64_t ProgramBuilder::add_constant(std::string bytes) {
  const int64_t offset = allocate_host(static_cast<int64_t>(bytes.size()));
  place_constant(offset, std::move(bytes));
  return offset;
}

void ProgramBuilder::wait(Unit unit, std::span<const Access> accesses) {
  for (const Wait& wait : hazards_.missing(unit, accesses)) {
    const Instruction sync{.opcode = wait.buffer ? Opcode::sync_buffer : Opcode::sync,
                           .waiter = static_cast<int64_t>(unit),
                           .on = static_cast<int64_t>(wait.on),
                           .behind = wait.behind};
    hazards_.sync(sync);
    program_.instructions.push_back(sync);
  }
}

void ProgramBuilder::emit(const Instruction& instruction) {
  const auto index = static_cast<int64_t>(program_.instructions.size());
  check_instruction(instruction, index);
  const int unit = unit_of(instruction.opcode);
  if (unit >= 0) {
    const std::vector<Access> accesses = accesses_of(instruction, registers_, config_, index);
    wait(static_cast<Unit>(unit), accesses);
    hazards_.issue(static_cast<Unit>(unit), accesses,
                   static_cast<int64_t>(program_.instructions.size()));
  } else if (instruction.opcode == Opcode::set) {
    registers_.set(static_cast<Register>(instruction.reg), instruction.value);
  } else if (instruction.opcode == Opcode::sync || instruction.opcode == Opcode::sync_buffer) {
    hazards_.sync(instruction);
  }
  program_.instructions.push_back(instruction);
}

void ProgramBuilder::set(Register reg, int64_t value) {
  if (registers_[reg] == value) return;
  emit({.opcode = Opcode::set, .reg = static_cast<int64_t>(reg), .value = value});
}

void ProgramBuilder::read_host(const Rows& rows, int64_t row_bytes, int64_t stride) {
  set(Register::host_row_bytes, row_bytes);
  if (stride != 0) set(Register::host_stride, stride);
  emit({.opcode = stride != 0 ? Opcode::read_host_strided : Opcode::read_host,
        .ub = rows.ub,
        .rows = rows.rows,
        .host = rows.host});
}

void ProgramBuilder::write_host(const Rows& rows, int64_t row_bytes, int64_t stride) {
  set(Register::host_row_bytes, row_bytes);
  if (stride != 0) set(Register::host_stride, stride);
  emit({.opcode = stride != 0 ? Opcode::write_host_strided : Opcode::write_host,
        .ub = rows.ub,
        .rows = rows.rows,
        .host = rows.host});
}

void ProgramBuilder::read_weights(uint32_t tile, int64_t rows, int64_t columns) {
  emit({.opcode = Opcode::read_weights,
        .rows = rows,
        .columns = columns,
        .repeat = 1,
        .tile = tile});
}

void ProgramBuilder::matmul(int64_t flags, const Rows& rows) {
  emit({.opcode = Opcode::matmul,
        .flags = flags,
        .ub = rows.ub,
        .acc = rows.acc,
        .rows = rows.rows});
}

void ProgramBuilder::convolve(int64_t flags, int64_t ub, int64_t acc, int64_t height,
                              int64_t width) {
  emit({.opcode = Opcode::convolve,
        .flags = flags,
        .ub = ub,
        .acc = acc,
        .height = height,
        .width = width});
}

void ProgramBuilder::activate(int64_t flags, const Rows& rows) {
  emit({.opcode = Opcode::activate,
        .flags = flags,
        .ub = rows.ub,
        .acc = rows.acc,
        .rows = rows.rows});
}

void ProgramBuilder::vector(int64_t flags, const Rows& rows, int64_t b) {
  if ((flags & (kAdd | kMultiply)) != 0) set(Register::vector_b, b);
  emit({.opcode = Opcode::vector,
        .flags = flags,
        .ub = rows.ub,
        .source = rows.source,
        .rows = rows.rows});
}

Program ProgramBuilder::finish() && {
  emit({.opcode = Opcode::halt});
  return std::move(program_);
}

std::string channel_table_bytes(int array, std::span<const int32_t> bias,
                                std::span<const int32_t> multipliers,
                                std::span<const int8_t> shifts) {
  std::string out;
  const auto columns = static_cast<size_t>(array);
  for (const std::span<const int32_t> values : {bias, multipliers}) {
    for (size_t c = 0; c < columns; ++c) put_s32(out, c < values.size() ? values[c] : 0);
  }
  for (size_t c = 0; c < columns; ++c)
    out.push_back(static_cast<char>(c < shifts.size() ? shifts[c] : 0));
  return out;
}

}  // namespace systole::tpu_v1
