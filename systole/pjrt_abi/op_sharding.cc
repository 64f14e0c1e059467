#include "systole/pjrt_abi/op_sharding.h"

#include <span>

#include "systole/io/wire/varint.h"

namespace systole::pjrt_abi {
namespace {

// The fields, and values of the first.
constexpr uint64_t kType = 1;
constexpr uint64_t kTileDimensions = 3;
constexpr uint64_t kTileDevices = 4;
constexpr uint64_t kReplicateOnLastDimension = 6;
constexpr uint64_t kLastTileDimensions = 8;  // what the tiles behind those of axes are
constexpr uint64_t kMaximal = 1;
constexpr uint64_t kOther = 3;
// What they are.
constexpr int64_t kReplicated = 0;
constexpr int64_t kUnreduced = 6;
constexpr uint64_t kPacked = 2;  // the wire type

void append(std::string& message, uint64_t field, uint64_t value) {
  append_varint64(message, field << 3U);
  append_varint64(message, value);
}

void append(std::string& message, uint64_t field, std::span<const int64_t> values) {
  std::string packed;
  for (const int64_t value : values) append_varint64(packed, static_cast<uint64_t>(value));
  append_varint64(message, field << 3U | kPacked);
  append_varint64(message, packed.size());
  message += packed;
}

}  // namespace

std::string encode(const OpSharding& sharding) {
  std::string message;
  if (sharding.one_device) {
    append(message, kType, kMaximal);
    append(message, kTileDimensions, std::vector<int64_t>{1});
    append(message, kTileDevices, sharding.devices);
    return message;
  }
  std::vector<int64_t> tiles = sharding.tiles;
  int64_t parts = 1;
  for (const int64_t tile : tiles) parts *= tile;
  if (parts == 1 && sharding.terms == 1) return message;  // type 0, replicated
  const int64_t copies = static_cast<int64_t>(sharding.devices.size()) / parts / sharding.terms;
  std::vector<int64_t> kinds;
  const auto add_tiles = [&](int64_t count, int64_t kind) {
    if (count == 1) return;
    tiles.push_back(count);
    kinds.push_back(kind);
  };
  add_tiles(copies, kReplicated);
  add_tiles(sharding.terms, kUnreduced);
  append(message, kType, kOther);
  append(message, kTileDimensions, tiles);
  append(message, kTileDevices, sharding.devices);
  if (sharding.terms > 1) {
    append(message, kLastTileDimensions, kinds);
  } else if (copies > 1) {
    append(message, kReplicateOnLastDimension, 1);
  }
  return message;
}

}  // namespace systole::pjrt_abi
