// Sharded TFRecord files: <name>-00003-of-00010, each complete or not there.
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

// Whether a file is called as a shard is, of whatever name and number, and not as those of a
// checkpoint are.
bool is_shard_name(std::string_view file);

struct ShardOptions {
  std::string folder;                  // made when it is not there
  uint64_t shard_bytes = 100'000'000;  // before compression, about
  Compression compression = Compression::none;
  bool force = false;  // replaces what another conversion left
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

// Writes the examples of a split, in order, as shards of about the same number of examples, with
// <name>.json, which says what they are. When it was stopped, by whatever means, the same call goes
// on: shards that are there, of the size that they were written with, are kept. Errors:
// FAILED_PRECONDITION when the folder holds shards of that name made of other files or with other
// options; those of the files.
ShardReport write_shards(FileSystem& fs, const Split& split, const ShardOptions& options,
                         Clock& clock, const ProgressOptions& progress);

}  // namespace systole::app
