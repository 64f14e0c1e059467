// The part of the machine that applies functions.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "systole/base/error.h"
#include "systole/base/thread_pool.h"
#include "systole/tpu_v1/machine/activation.h"
#include "systole/tpu_v1/machine/machine.h"
#include "systole/tpu_v1/machine/rounding.h"

namespace systole::tpu_v1 {
namespace {

int32_t load_s32(const uint8_t* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | bytes[i];
  return static_cast<int32_t>(value);
}

int32_t checked_register(const Registers& registers, Register reg, int64_t least, int64_t most,
                         int64_t index) {
  const int64_t value = registers[reg];
  if (value < least || value > most) {
    throw invalid_argument("instruction {} (vector): register {}, got {}, expected {} to {}", index,
                           name_of(reg), value, least, most);
  }
  return static_cast<int32_t>(value);
}

struct VectorScale {
  int32_t zero;
  int32_t multiplier;
  int shift;
};

VectorScale scale_of(const Registers& r, Register zero, Register multiplier, Register shift,
                     int64_t index) {
  return {checked_register(r, zero, INT16_MIN, UINT16_MAX, index),
          checked_register(r, multiplier, INT32_MIN, INT32_MAX, index),
          checked_register(r, shift, kMinShift, kMaxShift, index)};
}

}  // namespace

// Writes rows of results to the Unified Buffer.
void Machine::store(const Instruction& instruction, std::span<const int32_t> values,
                    int64_t first_row) {
  const auto columns = static_cast<size_t>(config_.array);
  const bool wide = (instruction.flags & kOutput16) != 0;
  const int64_t planes = wide ? 2 : 1;
  for (size_t r = 0; r < values.size() / columns; ++r) {
    uint8_t* to = buffer_row(instruction.ub + (first_row + static_cast<int64_t>(r)) * planes);
    const int32_t* from = values.data() + r * columns;
    for (size_t c = 0; c < columns; ++c) {
      to[c] = static_cast<uint8_t>(from[c]);
      if (wide) to[columns + c] = static_cast<uint8_t>(from[c] >> 8);
    }
  }
}

// Pools and stores results. Columns from `used` on are equal in all rows.
void Machine::finish(const Instruction& instruction, int64_t used, std::vector<int32_t>& values) {
  const bool pooled = (instruction.flags & (kMaxPool | kAveragePool)) != 0;
  if (pooled) values = pool_rows(values, config_.array, used, instruction.flags, registers_);
  store(instruction, values, 0);
}

// The parameters of columns, from the Unified Buffer. Errors: INVALID_ARGUMENT for a shift.
ChannelTable Machine::channel_table(int64_t index) const {
  const auto columns = static_cast<size_t>(config_.array);
  const uint8_t* bytes = buffer_row(registers_[Register::channel_table]);
  ChannelTable table;
  for (size_t c = 0; c < columns; ++c) {
    table.bias.push_back(load_s32(bytes + 4 * c));
    table.multiplier.push_back(load_s32(bytes + 4 * columns + 4 * c));
    table.shift.push_back(static_cast<int8_t>(bytes[8 * columns + c]));
    if (table.shift[c] < kMinShift || table.shift[c] > kMaxShift) {
      throw invalid_argument(
          "instruction {} (activate): shift of column {}, got {}, expected {} to {}", index, c,
          table.shift[c], kMinShift, kMaxShift);
    }
    if (table.bias[c] != 0 || table.multiplier[c] != 0) table.used = c + 1;
  }
  return table;
}

void Machine::activate(const Program& program, const Instruction& instruction, int64_t index) {
  const auto columns = static_cast<size_t>(config_.array);
  const bool raw = (instruction.flags & kRaw) != 0;
  const ChannelTable table = raw ? ChannelTable{.used = columns} : channel_table(index);
  // A column without bias and factor has one result.
  const int32_t rest = raw ? 0 : finish_value(0, instruction.flags, registers_);
  std::vector<int32_t> values(static_cast<size_t>(instruction.rows) * columns);
  std::atomic<int64_t> overflows = 0;
  ThreadPool::global().parallel_for(instruction.rows, 32, [&](int64_t begin, int64_t end) {
    int64_t wrapped = 0;
    for (int64_t r = begin; r < end; ++r) {
      const int32_t* sums = accumulators_.data() + (instruction.acc + r) * config_.array;
      int32_t* out = values.data() + r * config_.array;
      for (size_t c = 0; c < table.used; ++c) {
        if (raw) {
          out[c] = (instruction.flags & kRelu) != 0 ? std::max(sums[c], 0) : sums[c];
          continue;
        }
        const int64_t exact = int64_t{sums[c]} + table.bias[c];
        wrapped += wrap32(exact) != exact ? 1 : 0;
        const int32_t scaled =
            requantize(wrap32(exact), table.multiplier[c], table.shift[c], program.rounding);
        out[c] = finish_value(scaled, instruction.flags, registers_);
      }
      std::fill(out + table.used, out + columns, rest);
    }
    overflows += wrapped;
  });
  count_overflow(index, overflows);
  finish(instruction, static_cast<int64_t>(table.used), values);
}

void Machine::load_operand(int64_t row, bool wide, bool is_unsigned,
                           std::vector<int32_t>& values) const {
  const auto columns = static_cast<size_t>(config_.array);
  const uint8_t* low = buffer_row(row);
  for (size_t c = 0; c < columns; ++c) {
    if (wide) {
      values[c] = static_cast<int16_t>(low[c] | low[columns + c] << 8);
    } else {
      values[c] = is_unsigned ? int32_t{low[c]} : int32_t{static_cast<int8_t>(low[c])};
    }
  }
}

void Machine::vector(const Program& program, const Instruction& instruction, int64_t index) {
  const Registers& r = registers_;
  const int64_t flags = instruction.flags;
  const bool add = (flags & kAdd) != 0;
  const bool multiply = (flags & kMultiply) != 0;
  const VectorScale a_scale =
      scale_of(r, Register::a_zero, Register::a_multiplier, Register::a_shift, index);
  const VectorScale b_scale =
      scale_of(r, Register::b_zero, Register::b_multiplier, Register::b_shift, index);
  const VectorScale out_scale =
      scale_of(r, Register::a_zero, Register::out_multiplier, Register::out_shift, index);
  const int left = checked_register(r, Register::left_shift, 0, kMaxShift, index);
  const auto columns = static_cast<size_t>(config_.array);
  const bool is_unsigned = (flags & kUnsignedOperands) != 0;
  std::vector<int32_t> a(columns);
  std::vector<int32_t> b(columns);
  std::vector<int32_t> values(static_cast<size_t>(instruction.rows) * columns);
  int64_t overflows = 0;
  for (int64_t row = 0; row < instruction.rows; ++row) {
    const bool a16 = (flags & kA16) != 0;
    const bool b16 = (flags & kB16) != 0;
    load_operand(instruction.source + row * (a16 ? 2 : 1), a16, is_unsigned, a);
    if (add || multiply)
      load_operand(r[Register::vector_b] + row * (b16 ? 2 : 1), b16, is_unsigned, b);
    int32_t* out = values.data() + static_cast<size_t>(row) * columns;
    for (size_t c = 0; c < columns; ++c) {
      int64_t exact = int64_t{a[c]} - a_scale.zero;
      const int64_t other = int64_t{b[c]} - b_scale.zero;
      if (multiply) exact *= other;
      if (add) {
        exact = int64_t{requantize(wrap32(exact * (int64_t{1} << left)), a_scale.multiplier,
                                   a_scale.shift, program.rounding)} +
                requantize(wrap32(other * (int64_t{1} << left)), b_scale.multiplier, b_scale.shift,
                           program.rounding);
      }
      overflows += wrap32(exact) != exact ? 1 : 0;
      const int32_t scaled =
          requantize(wrap32(exact), out_scale.multiplier, out_scale.shift, program.rounding);
      out[c] = finish_value(scaled, flags, r);
    }
  }
  count_overflow(index, overflows);
  finish(instruction, config_.array, values);
}

}  // namespace systole::tpu_v1
