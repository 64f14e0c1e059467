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

// leveldb's builder must be told whether it is finished before it is destroyed.
class Builder {
 public:
  Builder(const leveldb::Options& options, leveldb::WritableFile* file) : builder_(options, file) {}
  ~Builder() {
    if (!finished_) builder_.Abandon();
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  void add(const TableEntry& entry) { builder_.Add(entry.key, entry.value); }
  leveldb::Status finish() {
    builder_.Flush();  // what may throw before Finish() takes note that it was called
    finished_ = true;
    return builder_.Finish();
  }

 private:
  leveldb::TableBuilder builder_;
  bool finished_ = false;
};

}  // namespace

std::string write_table(const std::vector<TableEntry>& entries) {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = 256U << 10U;
  StringFile file;
  Builder builder(options, &file);
  for (const TableEntry& entry : entries) builder.add(entry);
  const leveldb::Status status = builder.finish();
  if (!status.ok()) throw internal_error("table: {}", status.ToString());
  return std::move(file.contents);
}

}  // namespace systole
