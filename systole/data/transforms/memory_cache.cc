// cache in memory: keeps the first whole epoch; an epoch not read to its end leaves nothing. A
// saved position has the number of elements, not the elements: they are read again from the input,
// which produces the same in the same epoch, unless a stage is not deterministic.
#include "systole/base/mutex.h"
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

using RowsPtr = std::shared_ptr<const std::vector<Components>>;

// Copies numbers of several elements to one block of memory, so that later epochs read it
// sequentially.
constexpr size_t kBlockRows = 64;
constexpr int64_t kLargestRowBytes = 64 << 10;

bool same_small_types(std::span<const Components> rows) {
  for (const Components& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      const bool small = row[c].dtype() != DType::string && row[c].byte_size() <= kLargestRowBytes;
      if (!small || row[c].shape() != rows.front()[c].shape()) return false;
    }
  }
  return true;
}

void gather_block(std::span<Components> rows) {
  if (!same_small_types(rows)) return;
  const Components block = stack_rows("cache", rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t c = 0; c < block.size(); ++c) {
      const auto row = static_cast<int64_t>(i);
      rows[i][c] = block[c].slice(row, row + 1).reshape(rows[i][c].shape());
    }
  }
}

// The elements of an epoch, null until one was whole, and the position from which to read them
// again.
struct Kept {
  RowsPtr rows;
  uint64_t epoch = 0;  // in which they were read; likewise the branch
  uint64_t branch = 0;
  bool by_value = false;                       // they cannot be read again
  std::optional<size_t> count = std::nullopt;  // number of elements to read again

  bool whole() const { return rows != nullptr || count; }
  bool is_of_epoch_of(const Kept& other) const {
    return epoch == other.epoch && branch == other.branch;
  }
};

// Shared by the epochs of one iterator, and by branches that run side by side. Thread-safe.
class CachedRows {
 public:
  Kept get() {
    const MutexLock lock(mutex_);
    return kept_;
  }
  void set(Kept kept) {
    const MutexLock lock(mutex_);
    kept_ = std::move(kept);
  }

 private:
  Mutex mutex_;
  Kept kept_ SYSTOLE_GUARDED_BY(mutex_);
};

class MemoryCacheNode final : public DatasetNode {
 public:
  explicit MemoryCacheNode(const NodePtr& input) : DatasetNode("cache", input->spec(), {input}) {
    each_node(*input, [&](const DatasetNode& node) {
      over_cache |= dynamic_cast<const MemoryCacheNode*>(&node) != nullptr;
    });
  }
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  void save_left(SharedObjects& shared, StateWriter& writer) const override;
  void restore_left(SharedObjects& shared, StateReader& reader) const override;

  // If branches have different elements, only those of the last branch can be read again.
  bool over_cache = false;
};

class MemoryCacheStage final : public Stage {
 public:
  MemoryCacheStage(const MemoryCacheNode& node, const StageContext& context)
      : shared_(context.shared->get<CachedRows>(node)),
        kept_(shared_->get()),
        node_(node),
        context_(context) {
    if (kept_.rows != nullptr) return;
    if (kept_.count) {
      again_ = {.rows = *kept_.count, .whole = true};
      return;
    }
    kept_.epoch = context.epoch;
    kept_.branch = context.branch;
    input_ = make_stage(node.input(), context);
  }

 protected:
  bool do_next(Components& row) override;
  void do_save(StateWriter& writer) override;
  void do_restore(StateReader& reader) override;

 private:
  // Set by restoring a position.
  struct Again {
    size_t rows = 0;
    bool whole = false;
  };
  void read_again();
  bool cannot_be_read_again() const {
    return kept_.by_value || node_.over_cache || context_.root->any_order();
  }
  // Returns whether the node's elements are, or will be, those of this stage.
  bool shares() const {
    const Kept kept = shared_->get();
    return kept.whole() && kept.is_of_epoch_of(kept_);
  }
  void keep(Components row);
  void finish(bool share);
  void save_rows(StateWriter& writer) const;
  void restore_rows(StateReader& reader);

  std::shared_ptr<CachedRows> shared_;
  Kept kept_;  // null elements while filling
  const MemoryCacheNode& node_;
  const StageContext context_;
  size_t next_ = 0;
  std::unique_ptr<Stage> input_;
  std::vector<Components> filling_;
  bool failed_ = false;
  std::optional<Again> again_;  // elements to read before anything else
  bool lost_ = false;           // they could not be read
};

void MemoryCacheStage::keep(Components row) {
  filling_.push_back(std::move(row));
  if (filling_.size() % kBlockRows == 0) gather_block(std::span(filling_).last(kBlockRows));
}

void MemoryCacheStage::finish(bool share) {
  kept_.rows = std::make_shared<const std::vector<Components>>(std::exchange(filling_, {}));
  kept_.by_value = cannot_be_read_again();
  kept_.count.reset();
  if (share) shared_->set(kept_);
  input_.reset();
}

bool MemoryCacheStage::do_next(Components& row) {
  if (lost_) return false;
  if (again_) read_again();
  if (kept_.rows != nullptr) {
    if (next_ >= kept_.rows->size()) return false;
    row = (*kept_.rows)[next_++];
    return true;
  }
  try {
    if (input_->next(row)) {
      if (!failed_) keep(row);
      return true;
    }
  } catch (...) {
    failed_ = true;  // an incomplete epoch is not kept
    filling_.clear();
    throw;
  }
  if (failed_) return false;
  finish(true);
  next_ = kept_.rows->size();
  return false;
}

// Reads again the elements that existed when the position was saved. Errors: those of the input;
// FAILED_PRECONDITION if it produces another number of elements. This epoch is then at its end.
void MemoryCacheStage::read_again() {
  const Again again = *again_;
  // Branches that filled it side by side may have different elements.
  const bool shared = again.whole && shares();
  if (shared) {
    const Kept others = shared_->get();
    if (others.rows != nullptr) {
      kept_ = others;
      again_.reset();
      return;
    }
    shared_->set({});  // if this fails, the next epoch starts anew
  }
  lost_ = true;
  StageContext then = context_;
  then.epoch = kept_.epoch;
  then.branch = kept_.branch;
  input_ = make_stage(node_.input(), then);
  Components row;
  bool more = true;
  while ((filling_.size() < again.rows || again.whole) && (more = input_->next(row))) {
    keep(std::exchange(row, {}));
    context_.cancellation().check();
    if (filling_.size() > again.rows) break;
  }
  if (filling_.size() != again.rows) {
    throw failed_precondition(
        "cache: elements of its input, got {}{}, expected {} as when the position was saved; what "
        "the input reads has changed",
        more ? "more than " : "", more ? again.rows : filling_.size(), again.rows);
  }
  lost_ = false;
  again_.reset();
  if (again.whole) finish(shared);
}

// Elements that all branches share are saved by the node.
void MemoryCacheStage::do_save(StateWriter& writer) {
  const bool whole = again_ ? again_->whole : kept_.rows != nullptr;
  const bool by_value = !again_ && cannot_be_read_again() && !(whole && shares());
  writer.flag(by_value);
  if (by_value) return save_rows(writer);
  const size_t there = whole && !again_ ? kept_.rows->size() : filling_.size();
  writer.flag(whole);
  writer.number(kept_.epoch);
  writer.number(kept_.branch);
  writer.number(again_ ? again_->rows : there);
  writer.number(next_);
  writer.flag(failed_);
  if (failed_) input_->save(writer);
}

void MemoryCacheStage::do_restore(StateReader& reader) {
  if (reader.flag()) return restore_rows(reader);
  Again again;
  again.whole = reader.flag();
  kept_ = {};
  kept_.epoch = reader.number();
  kept_.branch = reader.number();
  again.rows = reader.number();
  next_ = reader.number();
  failed_ = reader.flag();
  if (failed_) {
    if (input_ == nullptr) input_ = make_stage(node_.input(), context_);
    input_->restore(reader);
    return;
  }
  again_ = again;
  input_.reset();
}

void MemoryCacheStage::save_rows(StateWriter& writer) const {
  const bool whole = kept_.rows != nullptr;
  writer.flag(whole);
  writer.rows(whole ? *kept_.rows : filling_);
  writer.number(kept_.epoch);
  writer.number(kept_.branch);
  writer.number(next_);
  writer.flag(failed_);
  if (!whole) input_->save(writer);
}

void MemoryCacheStage::restore_rows(StateReader& reader) {
  const bool whole = reader.flag();
  reader.rows(filling_);
  kept_ = {};
  kept_.epoch = reader.number();
  kept_.branch = reader.number();
  kept_.by_value = true;
  next_ = reader.number();
  failed_ = reader.flag();
  if (whole) return finish(false);
  if (input_ == nullptr) input_ = make_stage(node_.input(), context_);
  input_->restore(reader);
}

void MemoryCacheNode::save_left(SharedObjects& shared, StateWriter& writer) const {
  const Kept kept = shared.get<CachedRows>(*this)->get();
  writer.flag(kept.whole());
  if (!kept.whole()) return;
  writer.number(kept.epoch);
  writer.number(kept.branch);
  writer.flag(kept.by_value);
  if (kept.by_value) {
    writer.rows(*kept.rows);
  } else {
    writer.number(kept.rows != nullptr ? kept.rows->size() : *kept.count);
  }
}

void MemoryCacheNode::restore_left(SharedObjects& shared, StateReader& reader) const {
  if (!reader.flag()) return;
  Kept kept;
  kept.epoch = reader.number();
  kept.branch = reader.number();
  kept.by_value = reader.flag();
  if (kept.by_value) {
    std::vector<Components> rows;
    reader.rows(rows);
    kept.rows = std::make_shared<const std::vector<Components>>(std::move(rows));
  } else {
    kept.count = reader.number();
  }
  shared.get<CachedRows>(*this)->set(std::move(kept));
}

std::unique_ptr<Stage> MemoryCacheNode::make(const StageContext& context) const {
  return std::make_unique<MemoryCacheStage>(*this, context);
}

}  // namespace

NodePtr memory_cache_node(const NodePtr& input) { return std::make_shared<MemoryCacheNode>(input); }

}  // namespace systole::data
