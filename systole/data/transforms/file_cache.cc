// cache in a file: keeps the first whole epoch for all later epochs and runs.
//   file   := TFRecord file of records      record 0 := "SYDC1 " spec      record i := row
//   (state.h)
// The file appears complete or not at all.
#include "systole/base/mutex.h"
#include "systole/data/nodes.h"
#include "systole/io/records/tfrecord.h"

namespace systole::data {
namespace {

constexpr std::string_view kMagic = "SYDC1 ";

// An epoch of a repeat in a branch of a zip.
struct Epoch {
  uint64_t number = 0;
  uint64_t branch = 0;
};

// The epoch that was read to its end but not written, because the iterator was restored in its
// middle. The next epoch reads it again and produces what the file would have. Thread-safe.
class UnwrittenEpoch {
 public:
  std::optional<Epoch> get() {
    const MutexLock lock(mutex_);
    return epoch_;
  }
  void set(std::optional<Epoch> epoch) {
    const MutexLock lock(mutex_);
    epoch_ = epoch;
  }

 private:
  Mutex mutex_;
  std::optional<Epoch> epoch_ SYSTOLE_GUARDED_BY(mutex_);
};

class FileCacheNode final : public DatasetNode {
 public:
  FileCacheNode(const NodePtr& input, std::string path, FileSystem& file_system)
      : DatasetNode("cache", input->spec(), {input}),
        path(std::move(path)),
        file_system(file_system) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  void save_left(SharedObjects& shared, StateWriter& writer) const override;
  void restore_left(SharedObjects& shared, StateReader& reader) const override;
  std::string arguments() const override { return "'" + path + "'"; }
  std::string header() const { return std::string(kMagic) + spec().to_string(); }

  const std::string path;
  FileSystem& file_system;
};

class FileCacheStage final : public Stage {
 public:
  FileCacheStage(const FileCacheNode& node, const StageContext& context)
      : node_(node), context_(context), unwritten_(context.shared->get<UnwrittenEpoch>(node)) {
    if (node_.file_system.exists(node_.path)) return;
    open_input(unwritten_->get().value_or(Epoch{context.epoch, context.branch}));
  }

 protected:
  bool do_next(Components& row) override {
    if (input_ == nullptr) return read(row);
    try {
      if (input_->next(row)) {
        write(row);
        return true;
      }
      finish();
      return false;
    } catch (...) {
      writer_.reset();  // neither an incomplete epoch is kept nor one that cannot be written
      passing_ = true;
      failed_ = true;
      throw;
    }
  }
  void do_save(StateWriter& writer) override {
    writer.flag(input_ != nullptr);
    if (input_ != nullptr) {
      writer.number(epoch_.number);
      writer.number(epoch_.branch);
      writer.flag(failed_);
      input_->save(writer);
      return;
    }
    writer.flag(lost_);
    if (lost_) return;
    open_reader();
    writer.number(reader_->offset());
  }
  // A restored stage cannot continue a file: it only passes on the rest of the epoch.
  void do_restore(StateReader& reader) override {
    if (reader.flag()) {
      passing_ = restored_ = true;
      const uint64_t number = reader.number();
      open_input({number, reader.number()});
      failed_ = reader.flag();
      input_->restore(reader);
      return;
    }
    input_.reset();
    lost_ = reader.flag();
    if (lost_) return;
    open_reader();
    reader_->seek(reader.number());
  }

 private:
  void open_input(Epoch epoch) {
    epoch_ = epoch;
    StageContext then = context_;
    then.epoch = epoch.number;
    then.branch = epoch.branch;
    input_.reset();
    input_ = make_stage(node_.input(), then);
  }
  void open_reader() {
    if (reader_ != nullptr) return;
    auto reader = std::make_unique<RecordReader>(node_.file_system, node_.path);
    const auto header = reader->next();
    if (!header || *header != node_.header()) {
      throw failed_precondition(
          "cache: {}, got {}, expected '{}'; remove the file to make it anew", node_.path,
          header ? fmt::format("'{}'", header->substr(0, 200)) : "no records", node_.header());
    }
    reader_ = std::move(reader);
  }
  // After damaged data, continues with the next record; after any other error, ends.
  bool read(Components& row) {
    if (lost_) return false;
    try {
      open_reader();
      const auto record = reader_->next();
      if (record) row = StateReader(*record).row();
      return record.has_value();
    } catch (const Error&) {
      lost_ = reader_ == nullptr || !reader_->skip_damaged();
      throw;
    }
  }
  void open_writer() {
    if (writer_ != nullptr) return;
    writer_ = std::make_unique<RecordWriter>(node_.file_system, node_.path);
    writer_->write(node_.header());
  }
  void write(const Components& row) {
    if (passing_) return;
    open_writer();
    StateWriter bytes;
    bytes.row(row);
    writer_->write(bytes.data());
  }
  void finish() {
    if (passing_) {
      if (restored_ && !failed_) unwritten_->set(epoch_);
      return;
    }
    open_writer();
    writer_->close();
    writer_.reset();
    passing_ = true;
  }

  const FileCacheNode& node_;
  const StageContext context_;
  const std::shared_ptr<UnwrittenEpoch> unwritten_;
  Epoch epoch_;                   // of input_
  std::unique_ptr<Stage> input_;  // null if the file existed
  std::unique_ptr<RecordWriter> writer_;
  std::unique_ptr<RecordReader> reader_;
  bool passing_ = false;   // writes nothing
  bool restored_ = false;  // in the middle of the epoch
  bool failed_ = false;    // an element of it failed
  bool lost_ = false;      // the rest of the file cannot be read
};

void FileCacheNode::save_left(SharedObjects& shared, StateWriter& writer) const {
  const std::optional<Epoch> epoch = shared.get<UnwrittenEpoch>(*this)->get();
  writer.flag(epoch.has_value());
  if (!epoch) return;
  writer.number(epoch->number);
  writer.number(epoch->branch);
}

void FileCacheNode::restore_left(SharedObjects& shared, StateReader& reader) const {
  std::optional<Epoch> epoch;
  if (reader.flag()) {
    epoch.emplace();
    epoch->number = reader.number();
    epoch->branch = reader.number();
  }
  shared.get<UnwrittenEpoch>(*this)->set(epoch);
}

std::unique_ptr<Stage> FileCacheNode::make(const StageContext& context) const {
  return std::make_unique<FileCacheStage>(*this, context);
}

}  // namespace

NodePtr file_cache_node(const NodePtr& input, std::string path, FileSystem& file_system) {
  return std::make_shared<FileCacheNode>(input, std::move(path), file_system);
}

}  // namespace systole::data
