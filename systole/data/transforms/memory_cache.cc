// cache in memory: what the first whole epoch gave. An epoch that is not read to its end leaves
// nothing.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

using RowsPtr = std::shared_ptr<const std::vector<Row>>;

// Rows whose numbers are put side by side in memory, so that later epochs read it from one end to
// the other.
constexpr size_t kBlockRows = 64;
constexpr int64_t kLargestRowBytes = 64 << 10;

bool same_small_types(std::span<const Row> rows) {
  for (const Row& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const bool small = row[c].dtype() != DType::string && row[c].byte_size() <= kLargestRowBytes;
      if (!small || row[c].shape() != rows.front()[c].shape()) return false;
    }
  }
  return true;
}

void gather_block(std::span<Row> rows) {
  if (!same_small_types(rows)) return;
  const Row block = stack_rows("cache", rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t c = 0; c < block.size(); ++c) {
      const auto row = static_cast<int64_t>(i);
      rows[i][c] = block[c].slice(row, row + 1).reshape(rows[i][c].shape());
    }
  }
}

// Shared by the epochs of one iterator, and by branches that run side by side. Thread-safe.
class CachedRows {
 public:
  // Null until an epoch was whole.
  RowsPtr get() {
    const std::lock_guard lock(mutex_);
    return rows_;
  }
  void set(RowsPtr rows) {
    const std::lock_guard lock(mutex_);
    rows_ = std::move(rows);
  }

 private:
  std::mutex mutex_;
  RowsPtr rows_;
};

class MemoryCacheNode final : public DatasetNode {
 public:
  explicit MemoryCacheNode(NodePtr input) : DatasetNode("cache", input->spec(), {input}) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
};

class MemoryCacheStage final : public Stage {
 public:
  MemoryCacheStage(const MemoryCacheNode& node, const StageContext& context)
      : shared_(context.nested ? std::make_shared<CachedRows>()
                               : context.root->shared<CachedRows>(node)),
        rows_(shared_->get()),
        node_(node),
        context_(context) {
    if (rows_ == nullptr) input_ = make_stage(node.input(), context);
  }

 protected:
  bool do_next(Row& row) override {
    if (rows_ != nullptr) {
      if (next_ >= rows_->size()) return false;
      row = (*rows_)[next_++];
      return true;
    }
    try {
      if (input_->next(row)) {
        filling_.push_back(row);
        if (filling_.size() % kBlockRows == 0) {
          gather_block(std::span(filling_).last(kBlockRows));
        }
        return true;
      }
    } catch (...) {
      failed_ = true;  // an epoch with a hole is not kept
      throw;
    }
    if (failed_) return false;
    rows_ = std::make_shared<const std::vector<Row>>(std::move(filling_));
    next_ = rows_->size();
    shared_->set(rows_);
    input_.reset();
    return false;
  }
  void do_save(StateWriter& writer) override {
    writer.flag(rows_ != nullptr);
    const std::vector<Row>& rows = rows_ != nullptr ? *rows_ : filling_;
    writer.number(rows.size());
    for (const Row& row : rows) writer.row(row);
    if (rows_ != nullptr) {
      writer.number(next_);
    } else {
      writer.flag(failed_);
      input_->save(writer);
    }
  }
  void do_restore(StateReader& reader) override {
    const bool whole = reader.flag();
    std::vector<Row> rows(reader.count());
    for (Row& row : rows) row = reader.row();
    if (whole) {
      rows_ = std::make_shared<const std::vector<Row>>(std::move(rows));
      shared_->set(rows_);
      input_.reset();
      next_ = reader.number();
      return;
    }
    filling_ = std::move(rows);
    failed_ = reader.flag();
    input_->restore(reader);
  }

 private:
  std::shared_ptr<CachedRows> shared_;
  RowsPtr rows_;  // null while filling
  const MemoryCacheNode& node_;
  const StageContext context_;
  size_t next_ = 0;
  std::unique_ptr<Stage> input_;
  std::vector<Row> filling_;
  bool failed_ = false;
};

std::unique_ptr<Stage> MemoryCacheNode::make(const StageContext& context) const {
  return std::make_unique<MemoryCacheStage>(*this, context);
}

}  // namespace

NodePtr memory_cache_node(NodePtr input) {
  return std::make_shared<MemoryCacheNode>(std::move(input));
}

}  // namespace systole::data
