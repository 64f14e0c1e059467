// Sharded TFRecord files: <name>-00003-of-00010, each complete or absent.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "apps/systole/data/example_source.h"
#include "systole/base/clock.h"
#include "systole/io/wire/compression.h"

namespace systole::app {

// "train-00003-of-00010".
std::string shard_name(const std::string& name, int64_t shard, int64_t shards);

// Whether a file name is that of a shard, with any name and number, and not of a checkpoint.
bool is_shard_name(std::string_view file);

struct ShardOptions {
  std::string folder;                  // created if absent
  uint64_t shard_bytes = 100'000'000;  // approximate, before compression
  Compression compression = Compression::none;
  bool force = false;  // replaces shards of another conversion
};

struct ShardReport {
  int64_t examples = 0;
  int64_t shards = 0;
  int64_t kept = 0;  // of them, found complete
};

// Where progress goes: `out` may be null.
struct ProgressOptions {
  std::FILE* out = nullptr;
  bool terminal = false;
};

// Writes the examples of a split, in order, as shards of about the same number of examples, and
// <name>.json, which describes them. After a stop, the same call continues: shards that exist with
// their recorded size are kept. Errors: FAILED_PRECONDITION if the folder holds shards of that name
// from other files or options; those of the files.
ShardReport write_shards(FileSystem& fs, const Split& split, const ShardOptions& options,
                         Clock& clock, const ProgressOptions& progress);

}  // namespace systole::app
