#include "systole/tpu_v1/opentpu/opentpu.h"

#include <algorithm>
#include <vector>

#include "systole/base/error.h"
#include "systole/tpu_v1/builder/program_builder.h"

namespace systole::tpu_v1 {
namespace {

constexpr size_t kWordBytes = 14;
constexpr int64_t kBufferRows = 4096;
enum OpenTpuOpcode : uint8_t { whm = 1, rw = 2, mmc = 3, act = 4, rhm = 6, hlt = 7 };
enum OpenTpuFlag : uint8_t {
  next_tile = 1,
  convolved = 2,
  overwriting = 4,
  relu = 8,
  sigmoid = 16
};

struct Word {
  uint8_t opcode = 0;
  uint8_t flags = 0;
  int64_t length = 0;
  uint64_t address = 0;
  int64_t buffer = 0;
};

Word word_at(std::string_view bytes) {
  const auto integer = [&](size_t first, size_t size) {
    uint64_t value = 0;
    for (size_t i = first; i < first + size; ++i)
      value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  };
  return {static_cast<uint8_t>(bytes[0]), static_cast<uint8_t>(bytes[1]),
          static_cast<int64_t>(integer(2, 1)), integer(3, 8), static_cast<int64_t>(integer(11, 3))};
}

class OpenTpuTranslation {
 public:
  OpenTpuTranslation(int size, int64_t tiles, const std::string& path)
      : builder_(opentpu_config(size)),
        size_(size),
        tiles_(tiles),
        path_(path),
        written_(builder_.config().accumulators) {}

  // Returns false at the end of the program.
  bool word(const Word& word, int64_t index) {
    const ProgramBuilder::Rows rows{.ub = word.buffer,
                                    .acc = static_cast<int64_t>(word.address),
                                    .rows = word.length,
                                    .host = static_cast<int64_t>(word.address) * size_};
    if (word.address > UINT32_MAX / 512) {
      throw make_error(Code::out_of_range, "{}: word {}: address, got {}, expected at most {}",
                       path_, index, word.address, UINT32_MAX / 512);
    }
    switch (word.opcode) {
      case 0:
      case 5:
        break;
      case whm:
        builder_.write_host(rows);
        break;
      case rhm:
        builder_.read_host(rows);
        break;
      case rw:
        if (static_cast<int64_t>(word.address) >= tiles_) {
          throw make_error(Code::out_of_range, "{}: word {}: tile, got {}, expected below {}",
                           path_, index, word.address, tiles_);
        }
        builder_.read_weights(static_cast<uint32_t>(word.address), size_, size_);
        break;
      case mmc:
        multiply(word, rows, index);
        break;
      case act:
        activate(word, rows, index);
        break;
      case hlt:
        return false;
      default:
        throw invalid_argument("{}: word {}: opcode, got {}, expected 0 to 7", path_, index,
                               word.opcode);
    }
    return true;
  }

  Program finish() && { return std::move(builder_).finish(); }
  ProgramBuilder& builder() { return builder_; }

 private:
  void check_word_flags(const Word& word, int known, int64_t index) const {
    if ((word.flags & ~known) != 0) {
      throw invalid_argument("{}: word {}: flags, got {:#x}, expected bits of {:#x}", path_, index,
                             word.flags, known);
    }
  }

  void multiply(const Word& word, const ProgramBuilder::Rows& rows, int64_t index) {
    check_word_flags(word, next_tile | convolved | overwriting, index);
    if ((word.flags & convolved) != 0) {
      throw unimplemented("{}: word {}: MMC.C, which OpenTPU does not implement", path_, index);
    }
    if (rows.acc + rows.rows > static_cast<int64_t>(written_.size())) {
      throw make_error(Code::out_of_range,
                       "{}: word {}: accumulators, got {} to {}, expected below {}", path_, index,
                       rows.acc, rows.acc + rows.rows - 1, written_.size());
    }
    // A row that was never written holds 0: adding to it is overwriting it.
    const auto first = written_.begin() + rows.acc;
    const int64_t old = std::count(first, first + rows.rows, true);
    const bool overwrite = (word.flags & overwriting) != 0 || old == 0;
    if (!overwrite && old != rows.rows) {
      throw unimplemented(
          "{}: word {}: MMC that adds to {} rows in use and {} new ones, expected one kind", path_,
          index, old, rows.rows - old);
    }
    std::fill(first, first + rows.rows, true);
    builder_.matmul(((word.flags & next_tile) != 0 ? kNext : 0) | (overwrite ? kOverwrite : 0),
                    rows);
  }

  void activate(const Word& word, const ProgramBuilder::Rows& rows, int64_t index) {
    check_word_flags(word, relu | sigmoid, index);
    if ((word.flags & sigmoid) != 0) {
      throw unimplemented("{}: word {}: ACT.Q, on which OpenTPU's simulator and hardware disagree",
                          path_, index);
    }
    builder_.activate(kRaw | ((word.flags & relu) != 0 ? kRelu : 0), rows);
  }

  ProgramBuilder builder_;
  int64_t size_;
  int64_t tiles_;
  const std::string& path_;
  std::vector<bool> written_;
};

}  // namespace

MachineConfig opentpu_config(int size) {
  return {.array = size, .buffer_bytes = kBufferRows * size, .weight_bytes = int64_t{1} << 30};
}

Program translate_opentpu(std::string_view bytes, int size, std::span<const uint8_t> weights,
                          const std::string& path) {
  if (bytes.size() % kWordBytes != 0) {
    throw make_error(Code::data_loss, "{}: length, got {} bytes, expected a multiple of {}", path,
                     bytes.size(), kWordBytes);
  }
  opentpu_config(size).check();
  const size_t tile_bytes = static_cast<size_t>(size) * static_cast<size_t>(size);
  if (weights.size() % tile_bytes != 0) {
    throw invalid_argument("{}: weights, got {} bytes, expected a multiple of {}", path,
                           weights.size(), tile_bytes);
  }
  OpenTpuTranslation translation(size, static_cast<int64_t>(weights.size() / tile_bytes), path);
  for (size_t first = 0; first < weights.size(); first += tile_bytes) {
    translation.builder().add_tile(
        std::string(reinterpret_cast<const char*>(weights.data()) + first, tile_bytes));
  }
  int64_t index = 0;
  for (size_t at = 0; at < bytes.size(); at += kWordBytes) {
    if (!translation.word(word_at(bytes.substr(at, kWordBytes)), index++)) break;
  }
  return std::move(translation).finish();
}

}  // namespace systole::tpu_v1
