// The part of the machine that multiplies.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "systole/base/error.h"
#include "systole/base/thread_pool.h"
#include "systole/tpu_v1/machine/machine.h"
#include "systole/tpu_v1/machine/rounding.h"

namespace systole::tpu_v1 {
namespace {

constexpr int64_t kChunkRows = 128;  // multiplied at a time
constexpr size_t kMaxPacked = 4096;  // tiles that stay packed

}  // namespace

void Machine::next_tile(const Program& program, const Instruction& instruction, int64_t index) {
  if ((instruction.flags & kNext) != 0) {
    if (fifo_.empty()) {
      throw failed_precondition(
          "instruction {} ({}): weight FIFO underflow, got no tile, expected a read_weights "
          "before it",
          index, name_of(instruction.opcode));
    }
    in_array_ = fifo_.front();
    fifo_.pop_front();
    packed_ = nullptr;
  } else if (packed_ == nullptr) {
    throw failed_precondition(
        "instruction {} ({}): weights, got none in the array, expected flag next first", index,
        name_of(instruction.opcode));
  }
  const int64_t kind = instruction.flags & (kUnsignedWeights | kWeights16);
  if (packed_ != nullptr && packed_flags_ == kind) return;
  packed_flags_ = kind;
  if (packed_tiles_.size() >= kMaxPacked) packed_tiles_.clear();
  std::unique_ptr<PackedTile>& packed = packed_tiles_[{in_array_.index, kind}];
  if (packed == nullptr) {
    const auto found = program.tiles.find(in_array_.index);
    if (found == program.tiles.end()) {
      throw failed_precondition(
          "instruction {} ({}): read of weight tile {}, which was never written", index,
          name_of(instruction.opcode), in_array_.index);
    }
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(found->second.data()),
                                         found->second.size());
    packed = std::make_unique<PackedTile>(config_.array, bytes, (kind & kUnsignedWeights) != 0,
                                          (kind & kWeights16) != 0);
  }
  packed_ = packed.get();
}

// Copies the input rows of vectors [first, first + count), one plane of them, unsigned.
void Machine::gather(const Instruction& instruction, int64_t first, int64_t count, int64_t plane,
                     std::vector<uint8_t>& rows) const {
  const Registers& r = registers_;
  const int64_t planes = (instruction.flags & kInput16) != 0 ? 2 : 1;
  const int64_t stride = packed_->input_stride();
  const auto inputs = static_cast<size_t>(packed_->inputs());
  // The sign bit is in the highest plane.
  const bool flips = plane == planes - 1 && (instruction.flags & kUnsignedInput) == 0;
  const auto flip = static_cast<uint8_t>(flips ? 0x80 : 0);
  // The high bytes of a fill value extend its sign.
  const int64_t fill_value = r[Register::fill] >> (8 * plane);
  const auto fill = static_cast<uint8_t>(static_cast<uint8_t>(fill_value) ^ flip);
  const int64_t height = r[Register::conv_height];
  const int64_t width = r[Register::conv_width];
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* to = rows.data() + i * stride;
    int64_t row = first + i;
    if (instruction.opcode == Opcode::convolve) {
      const int64_t positions = instruction.height * instruction.width;
      const int64_t image = row / positions;
      const int64_t y = row % positions / instruction.width * r[Register::conv_stride_y] +
                        r[Register::conv_offset_y];
      const int64_t x =
          row % instruction.width * r[Register::conv_stride_x] + r[Register::conv_offset_x];
      if (y < 0 || y >= height || x < 0 || x >= width) {
        std::memset(to, fill, inputs);
        continue;
      }
      row = (image * height + y) * width + x;
    }
    const uint8_t* from = buffer_row(instruction.ub + row * planes + plane);
    for (size_t k = 0; k < inputs; ++k) to[k] = from[k] ^ flip;
  }
}

// Adds 8-bit products to sums, or replaces them. Returns how many sums left 32 bits.
int64_t Machine::add_products(const int32_t* products, int64_t columns, bool overwrite,
                              int32_t* sums) {
  if (overwrite) {
    std::copy(products, products + columns, sums);
    return 0;
  }
  uint32_t overflows = 0;
  for (int64_t c = 0; c < columns; ++c) {
    const auto a = static_cast<uint32_t>(sums[c]);
    const auto b = static_cast<uint32_t>(products[c]);
    const uint32_t sum = a + b;
    overflows += ((a ^ sum) & (b ^ sum)) >> 31;
    sums[c] = static_cast<int32_t>(sum);
  }
  return overflows;
}

// Adds the products of the planes, each worth 256 times the one before, to the accumulators.
// Returns how many sums left 32 bits.
int64_t Machine::accumulate(const Instruction& instruction, int64_t first, int64_t count,
                            std::span<const std::vector<int32_t>> planes) {
  const bool overwrite = (instruction.flags & kOverwrite) != 0;
  const bool pairs = (instruction.flags & kWeights16) != 0;
  const bool high_bytes = reads_high_bytes(instruction);
  const int64_t stride = packed_->output_stride();
  const int64_t most = pairs ? config_.array / 2 : config_.array;
  const int64_t columns = std::min(most, pairs ? stride / 2 : stride);
  int64_t overflows = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t* sums = accumulators_.data() + (instruction.acc + first + i) * config_.array;
    if (overwrite) std::fill(sums, sums + config_.array, 0);
    if (planes.size() == 1 && !pairs && !high_bytes) {
      overflows += add_products(planes[0].data() + i * stride, columns, overwrite, sums);
      continue;
    }
    for (int64_t c = 0; c < columns; ++c) {
      int64_t total = sums[c];
      for (size_t p = 0; p < planes.size(); ++p) {
        const int32_t* product = planes[p].data() + i * stride;
        const int64_t value =
            pairs ? product[2 * c] + int64_t{product[2 * c + 1]} * 256 : product[c];
        total += p == 0 && !high_bytes ? value : value * 256;
      }
      sums[c] = wrap32(total);
      overflows += sums[c] != total ? 1 : 0;
    }
  }
  return overflows;
}

void Machine::matrix(const Program& program, const Instruction& instruction, int64_t index) {
  next_tile(program, instruction, index);
  const int64_t vectors = matrix_vectors(instruction, registers_);
  const int64_t planes = (instruction.flags & kInput16) != 0 ? 2 : 1;
  const int64_t first_plane = reads_high_bytes(instruction) ? 1 : 0;
  const bool is_signed = (instruction.flags & kUnsignedInput) == 0;
  // The highest plane has the sign.
  const RowMultiplier low(*packed_, false);
  const RowMultiplier high(*packed_, is_signed);
  std::atomic<int64_t> overflows = 0;
  ThreadPool::global().parallel_for(vectors, kChunkRows, [&](int64_t begin, int64_t end) {
    std::vector<uint8_t> rows(static_cast<size_t>(kChunkRows * packed_->input_stride()));
    std::vector<std::vector<int32_t>> products(
        static_cast<size_t>(planes - first_plane),
        std::vector<int32_t>(static_cast<size_t>(kChunkRows * packed_->output_stride())));
    for (int64_t first = begin; first < end; first += kChunkRows) {
      const int64_t count = std::min(kChunkRows, end - first);
      for (int64_t plane = first_plane; plane < planes; ++plane) {
        gather(instruction, first, count, plane, rows);
        (plane == planes - 1 ? high : low)
            .run(rows.data(), count, products[plane - first_plane].data());
      }
      overflows += accumulate(instruction, first, count, products);
    }
  });
  count_overflow(index, overflows);
  const int64_t columns =
      (instruction.flags & kWeights16) != 0 ? (in_array_.columns + 1) / 2 : in_array_.columns;
  report_.multiply_adds += vectors * in_array_.rows * columns;
}

}  // namespace systole::tpu_v1
