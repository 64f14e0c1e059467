// Does not use leveldb::Table, which allocates the sizes of a damaged footer or index, and reads
// past the end if size and trailer overflow. This reader checks each size against the file first.
#include <snappy.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "systole/base/error.h"
#include "systole/io/checkpoints/table.h"
#include "systole/io/wire/crc32c.h"
#include "systole/io/wire/varint.h"

namespace systole {
namespace {

constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;
constexpr uint64_t kMagic = 0xdb4775248b80fb57U;
constexpr size_t kMaxBlockBytes = size_t{1} << 30U;
// What snappy makes of a byte at most, rounded up.
constexpr size_t kMaxSnappyRatio = 64;
// Keys share their begin with the key before, except every 16th, the restart points: a writer makes
// keys of at most 16 times the bytes that they take, a hostile one as many as it likes.
constexpr size_t kMaxKeyRatio = 64;
constexpr size_t kFreeKeyBytes = size_t{1} << 20U;

struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

class TableReader {
 public:
  TableReader(const std::string& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  std::vector<TableEntry> read() const {
    std::vector<TableEntry> entries;
    uint64_t end = 0;  // of the block before
    for (const TableEntry& block : read_block(index_handle())) {
      std::string_view value = block.value;
      const Handle handle = read_handle(value, "index of the table");
      // Blocks that overlap could be read any number of times.
      if (handle.offset < end) {
        fail("index of the table", fmt::format("a block at {}", handle.offset),
             fmt::format("one behind the block that ends at {}", end));
      }
      end = handle.offset + handle.size + kTrailerBytes;
      for (TableEntry& entry : read_block(handle)) {
        if (!entries.empty() && entries.back().key >= entry.key) {
          fail("keys", "one that is not above the key before it", "increasing ones");
        }
        entries.push_back(std::move(entry));
      }
    }
    return entries;
  }

 private:
  [[noreturn]] void fail(std::string_view what, std::string_view got,
                         std::string_view expected) const {
    throw make_error(Code::data_loss, "{}: {}, got {}, expected {}", path_, what, got, expected);
  }

  Handle index_handle() const {
    if (bytes_.size() < kFooterBytes) {
      fail("table", fmt::format("a file of {} bytes", bytes_.size()), "at least 48");
    }
    std::string_view footer = bytes_.substr(bytes_.size() - kFooterBytes);
    uint64_t magic = 0;
    std::memcpy(&magic, footer.data() + kFooterBytes - sizeof magic, sizeof magic);
    if (magic != kMagic) {
      fail("last 8 bytes of the table", fmt::format("{:#x}", magic), fmt::format("{:#x}", kMagic));
    }
    read_handle(footer, "footer of the table");  // of the metaindex, which holds nothing
    return read_handle(footer, "footer of the table");
  }

  Handle read_handle(std::string_view& bytes, std::string_view what) const {
    const auto offset = read_varint64(bytes);
    const auto size = read_varint64(bytes);
    if (!offset || !size) fail(what, "bytes that are no varint", "the place of a block");
    const uint64_t end = bytes_.size() - kFooterBytes;
    if (*offset > end || *size > end - *offset || end - *offset - *size < kTrailerBytes) {
      fail(what, fmt::format("a block of {} bytes at {}", *size, *offset),
           fmt::format("one that ends before {}", end));
    }
    return {.offset = *offset, .size = *size};
  }

  std::vector<TableEntry> read_block(Handle handle) const {
    const std::string_view stored = bytes_.substr(handle.offset, handle.size + 1);
    uint32_t expected = 0;
    std::memcpy(&expected, stored.data() + stored.size(), sizeof expected);
    const uint32_t got = mask_crc32c(crc32c(stored));
    if (got != expected) {
      fail(fmt::format("checksum of the block at {}", handle.offset), fmt::format("{:#010x}", got),
           fmt::format("{:#010x}", expected));
    }
    const std::string_view block = stored.substr(0, handle.size);
    switch (stored.back()) {
      case 0:
        return parse_block(handle, block);
      case 1:
        return parse_block(handle, uncompressed(handle, block));
      default:
        fail(fmt::format("compression of the block at {}", handle.offset),
             std::to_string(static_cast<unsigned char>(stored.back())), "0 (none) or 1 (snappy)");
    }
  }

  std::string uncompressed(Handle handle, std::string_view block) const {
    size_t size = 0;
    std::string result;
    if (!snappy::GetUncompressedLength(block.data(), block.size(), &size) ||
        size > std::min(kMaxBlockBytes, kMaxSnappyRatio * block.size()) ||
        !snappy::Uncompress(block.data(), block.size(), &result)) {
      fail(fmt::format("block at {}", handle.offset), "other bytes", "what snappy wrote");
    }
    return result;
  }

  std::vector<TableEntry> parse_block(Handle handle, std::string_view block) const {
    const std::string what = fmt::format("block at {}", handle.offset);
    uint32_t restarts = 0;
    if (block.size() < sizeof restarts) fail(what, "no restart points", "their number");
    std::memcpy(&restarts, block.data() + block.size() - sizeof restarts, sizeof restarts);
    const uint64_t tail = sizeof restarts * (uint64_t{restarts} + 1);
    if (tail > block.size()) {
      fail(what, fmt::format("{} restart points", restarts), "what the block has room for");
    }
    std::string_view rest = block.substr(0, block.size() - tail);
    std::vector<TableEntry> entries;
    std::string key;
    size_t key_bytes = 0;
    while (!rest.empty()) {
      const auto shared = read_varint64(rest);
      const auto unshared = read_varint64(rest);
      const auto value_size = read_varint64(rest);
      if (!shared || !unshared || !value_size || *shared > key.size() || *unshared > rest.size() ||
          *value_size > rest.size() - *unshared) {
        fail(what, "an entry that does not fit", "key and value within the block");
      }
      key.resize(*shared);
      key += rest.substr(0, *unshared);
      key_bytes += key.size();
      if (key_bytes > kMaxKeyRatio * block.size() + kFreeKeyBytes) {
        fail(what, fmt::format("keys of more than {} bytes", key_bytes - key.size()),
             fmt::format("at most {} times its {} bytes", kMaxKeyRatio, block.size()));
      }
      entries.push_back({key, std::string(rest.substr(*unshared, *value_size))});
      rest.remove_prefix(*unshared + *value_size);
    }
    return entries;
  }

  const std::string& path_;
  std::string_view bytes_;
};

}  // namespace

std::vector<TableEntry> read_table(const std::string& path, std::string_view bytes) {
  return TableReader(path, bytes).read();
}

}  // namespace systole
