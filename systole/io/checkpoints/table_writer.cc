#include <leveldb/comparator.h>
#include <leveldb/env.h>
#include <leveldb/table_builder.h>

#include "systole/base/error.h"
#include "systole/io/checkpoints/table.h"

namespace systole {
namespace {

class StringFile final : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    contents.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string contents;
};

}  // namespace

std::string write_table(const std::vector<TableEntry>& entries) {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = 256U << 10U;
  StringFile file;
  leveldb::TableBuilder builder(options, &file);
  for (const TableEntry& entry : entries) builder.Add(entry.key, entry.value);
  const leveldb::Status status = builder.Finish();
  if (!status.ok()) throw internal_error("table: {}", status.ToString());
  return std::move(file.contents);
}

}  // namespace systole
