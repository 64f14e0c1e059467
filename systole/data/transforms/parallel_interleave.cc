// interleave with threads, each of which reads a block of one data set of the cycle ahead. If
// deterministic, the order is that of the serial stage.
#include <chrono>
#include <deque>
#include <numeric>

#include "systole/data/inner_dataset.h"
#include "systole/data/result.h"
#include "systole/data/workers.h"

namespace systole::data {
namespace {

// Elements that a thread reads at once.
constexpr size_t kMinBlock = 16;
constexpr size_t kLargestBlock = 1024;

class ParallelInterleaveNode final : public DatasetNode {
 public:
  ParallelInterleaveNode(NodePtr input, Spec spec, DatasetMaker maker, InterleaveOptions options)
      : DatasetNode("interleave", std::move(spec), {std::move(input)}),
        maker(std::move(maker)),
        options(std::move(options)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  NodePtr body() const override { return maker.body; }
  std::string arguments() const override {
    return fmt::format("{}{}cycle_length={}, block_length={}, num_parallel_calls={}",
                       maker.to_string(), maker.body == nullptr ? "" : ", ", options.cycle_length,
                       options.block_length, options.num_parallel_calls);
  }

  const DatasetMaker maker;
  const InterleaveOptions options;
};

class ParallelInterleaveStage final : public InputStage {
 public:
  ParallelInterleaveStage(const ParallelInterleaveNode& node, const StageContext& context)
      : InputStage(node, context),
        node_(node),
        context_(context),
        in_order_(node.options.deterministic && !context.any_order),
        least_block_(std::max(static_cast<size_t>(node.options.block_length), kMinBlock)),
        cycle_(static_cast<size_t>(node.options.cycle_length)),
        workers_(context.cancellation(), thread_count(node.options.num_parallel_calls, context),
                 [this](Workers::Lock& lock) { return step(lock); }) {
    if (!in_order_) context.root->note_any_order();
    closed_.resize(cycle_.size());
    std::iota(closed_.begin(), closed_.end(), size_t{0});
  }
  ~ParallelInterleaveStage() override { workers_.stop(); }

 protected:
  bool do_next(Components& row) override;
  void do_save(StateWriter& writer) override;
  void do_restore(StateReader& reader) override;
  std::string_view form() const override { return " in threads"; }

 private:
  struct Slot {
    std::unique_ptr<InnerDataset> inner;
    std::deque<Result> ready;
    bool open = false;   // it has a data set that has not ended, or elements in `ready`
    bool ended = false;  // its data set has ended
    bool busy = false;   // a thread is reading it
  };

  bool step(Workers::Lock& lock);
  void open_slots(Workers::Lock& lock);
  void read_block(Slot& slot, Workers::Lock& lock);
  void advance() {
    position_ = (position_ + 1) % cycle_.size();
    given_ = 0;
  }
  bool turn_over(const Slot& slot) const { return slot.open && slot.ended && slot.ready.empty(); }
  bool all_ended() const { return ended_ && std::ranges::none_of(cycle_, &Slot::open); }
  Slot* choose(Workers::Lock& lock);
  void take(Slot* slot);
  void fill();

  const ParallelInterleaveNode& node_;
  const StageContext context_;
  const bool in_order_;
  const size_t least_block_;
  // Guarded by the lock of workers_, except `inner` of a busy slot. Threads read position_.
  std::vector<Slot> cycle_;
  size_t position_ = 0;
  size_t block_ = least_block_;
  std::vector<Components> spares_;  // elements whose memory is reused
  // Used by the consumer only.
  std::deque<size_t> closed_;  // slots without a data set, in order of their turn
  bool unmade_ = false;        // the first one's could not be made; its `ready` has the error
  std::deque<Result> taken_;
  std::vector<Components> given_back_;
  int64_t given_ = 0;  // of the current block, including taken_
  uint64_t index_ = 0;
  bool ended_ = false;  // the input
  Workers workers_;
};

// Assigns the next data sets to empty slots in the order of the serial stage. A data set that
// cannot be made delays the others until its error was thrown. Called by the consumer alone.
// Releases the lock meanwhile: making a stage, and reading the input, must not block cancel().
void ParallelInterleaveStage::open_slots(Workers::Lock& lock) {
  while (!closed_.empty() && !unmade_ && !ended_) {
    Slot& slot = cycle_[closed_.front()];
    lock.unlock();
    context_.cancellation().check();
    std::unique_ptr<InnerDataset> inner;
    Result source;
    try {
      if (input_->next(source.row)) {
        inner = std::make_unique<InnerDataset>("interleave", node_.maker, std::move(source.row),
                                               index_++, context_, node_.types());
      }
    } catch (...) {
      source.error = current_error();
    }
    lock.lock();
    unmade_ = source.error.has_value();
    ended_ = inner == nullptr && !unmade_;
    slot.open = !ended_;
    slot.ended = inner == nullptr;
    slot.inner = std::move(inner);
    if (unmade_) {
      slot.ready.push_back(std::move(source));
    } else {
      closed_.pop_front();
    }
    workers_.wake();
  }
}

bool ParallelInterleaveStage::step(Workers::Lock& lock) {
  for (size_t i = 0; i < cycle_.size(); ++i) {
    Slot& slot = cycle_[(position_ + i) % cycle_.size()];
    if (slot.busy || !slot.open || slot.ended || slot.ready.size() > block_ / 2) continue;
    read_block(slot, lock);
    return true;
  }
  return false;
}

void ParallelInterleaveStage::read_block(Slot& slot, Workers::Lock& lock) {
  slot.busy = true;
  const size_t wanted = block_ - std::min(block_, slot.ready.size());
  std::vector<Components> memory;
  for (; !spares_.empty() && memory.size() < wanted; spares_.pop_back())
    memory.push_back(std::move(spares_.back()));
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Result> block;
  bool ended = false;
  while (block.size() < wanted && !ended && !context_.cancellation().cancelled()) {
    Result result;
    if (!memory.empty()) {
      result.row = std::move(memory.back());
      memory.pop_back();
    }
    try {
      ended = !slot.inner->next(result.row);
    } catch (...) {
      result.error = current_error();
    }
    if (!ended) block.push_back(std::move(result));
    // Publishes early what others wait for.
    if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1)) break;
  }
  if (ended) slot.inner.reset();
  const auto took = std::chrono::steady_clock::now() - begin;
  lock.lock();
  std::ranges::move(block, std::back_inserter(slot.ready));
  slot.ended = ended;
  slot.busy = false;
  if (took > 2 * kChunkTime) {
    block_ = std::max(block_ / 2, least_block_);
  } else if (2 * took < kChunkTime && block.size() == wanted) {
    block_ = std::max(std::min(block_ * 2, kLargestBlock), least_block_);
  }
  note_work(took);
}

// Returns the slot from which to take an element; null if there is none. Looks at the whole cycle:
// a slot not looked at may be full, and its threads asleep.
ParallelInterleaveStage::Slot* ParallelInterleaveStage::choose(Workers::Lock& lock) {
  for (size_t tried = 0; tried < cycle_.size();) {
    Slot& slot = cycle_[position_];
    if (turn_over(slot)) {
      slot.open = false;
      closed_.push_back(position_);
      advance();
      open_slots(lock);
      tried = 0;
      continue;
    }
    if (!slot.ready.empty()) return &slot;
    if (slot.open && in_order_) return nullptr;
    advance();
    ++tried;
  }
  return nullptr;
}

// Takes all elements that are ready in order, to take the lock less often.
void ParallelInterleaveStage::take(Slot* slot) {
  for (; !slot->ready.empty() && taken_.size() < block_; slot = &cycle_[position_]) {
    taken_.push_back(std::move(slot->ready.front()));
    slot->ready.pop_front();
    if (slot->ready.size() == block_ / 2) workers_.wake_one();
    if (taken_.back().error) {
      // An error does not count as an element of the block, as in the serial stage.
      if (unmade_ && slot == &cycle_[closed_.front()]) slot->open = unmade_ = false;
      return;
    }
    if (++given_ == node_.options.block_length) advance();
  }
}

// Fills `taken_`, unless all data sets have ended.
void ParallelInterleaveStage::fill() {
  Workers::Lock lock = workers_.lock();
  for (; !given_back_.empty() && spares_.size() < block_; given_back_.pop_back())
    spares_.push_back(std::move(given_back_.back()));
  note_threads(workers_.count());
  workers_.start();
  Slot* slot = nullptr;
  open_slots(lock);
  workers_.wait(lock, [&] {
    slot = choose(lock);
    return slot != nullptr || all_ended();
  });
  if (slot != nullptr) take(slot);
}

bool ParallelInterleaveStage::do_next(Components& row) {
  // Frees memory on the thread that allocated it: freeing it elsewhere makes threads wait for one
  // another.
  if (!row.empty() && given_back_.size() < kLargestBlock) given_back_.push_back(std::move(row));
  if (taken_.empty()) fill();
  if (taken_.empty()) return false;
  Result result = std::move(taken_.front());
  taken_.pop_front();
  row = result.take();
  return true;
}

void ParallelInterleaveStage::do_save(StateWriter& writer) {
  const Workers::Pause pause(workers_);
  save_results(writer, taken_);
  writer.number(closed_.size());
  for (const size_t slot : closed_) writer.number(slot);
  writer.flag(unmade_);
  writer.number(position_);
  writer.number(static_cast<uint64_t>(given_));
  writer.number(index_);
  writer.flag(ended_);
  for (Slot& slot : cycle_) {
    writer.flag(slot.open);
    writer.flag(slot.ended);
    save_results(writer, slot.ready);
    if (slot.open && !slot.ended) slot.inner->save(writer);
  }
  input_->save(writer);
}

void ParallelInterleaveStage::do_restore(StateReader& reader) {
  restore_results(reader, taken_);
  closed_.resize(reader.count());
  for (size_t& slot : closed_) slot = reader.number() % cycle_.size();
  unmade_ = reader.flag() && !closed_.empty();
  position_ = reader.number() % cycle_.size();
  given_ = static_cast<int64_t>(reader.number());
  index_ = reader.number();
  ended_ = reader.flag();
  for (Slot& slot : cycle_) {
    slot.open = reader.flag();
    slot.ended = reader.flag();
    restore_results(reader, slot.ready);
    if (slot.open && !slot.ended) {
      slot.inner =
          InnerDataset::restored(reader, "interleave", node_.maker, context_, node_.types());
    }
  }
  input_->restore(reader);
}

std::unique_ptr<Stage> ParallelInterleaveNode::make(const StageContext& context) const {
  return std::make_unique<ParallelInterleaveStage>(*this, context);
}

}  // namespace

NodePtr parallel_interleave_node(NodePtr input, Spec spec, DatasetMaker maker,
                                 InterleaveOptions options) {
  return std::make_shared<ParallelInterleaveNode>(std::move(input), std::move(spec),
                                                  std::move(maker), std::move(options));
}

}  // namespace systole::data
