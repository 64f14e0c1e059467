// prefetch: a thread produces elements ahead of the consumer.
#include <chrono>
#include <deque>

#include "systole/data/nodes.h"
#include "systole/data/result.h"
#include "systole/data/workers.h"

namespace systole::data {
namespace {

// AUTOTUNE starts with this many, and doubles it whenever the consumer has to wait.
constexpr size_t kFirstDepth = 2;

int64_t bytes_of(const Components& row) {
  int64_t bytes = 0;
  for (const Tensor& tensor : row) {
    bytes += tensor.byte_size();
    if (tensor.dtype() != DType::string) continue;
    for (const std::string& text : tensor.data<std::string>()) {
      bytes += static_cast<int64_t>(text.size());
    }
  }
  return bytes;
}

class PrefetchNode final : public DatasetNode {
 public:
  PrefetchNode(const NodePtr& input, int64_t buffer_size)
      : DatasetNode("prefetch", input->spec(), {input}), buffer_size(buffer_size) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override {
    return buffer_size == AUTOTUNE ? "AUTOTUNE" : std::to_string(buffer_size);
  }

  const int64_t buffer_size;
};

class PrefetchStage final : public InputStage {
 public:
  PrefetchStage(const PrefetchNode& node, const StageContext& context)
      : InputStage(node, context),
        tuned_(node.buffer_size == AUTOTUNE),
        depth_(tuned_ ? kFirstDepth : static_cast<size_t>(node.buffer_size)),
        bytes_limit_(context.autotune_bytes > 0 ? context.autotune_bytes
                                                : context.root->options().autotune_bytes),
        workers_(context.cancellation(), 1, [this](Workers::Lock& lock) { return step(lock); }) {}
  ~PrefetchStage() override { workers_.stop(); }

 protected:
  bool do_next(Components& row) override {
    Workers::Lock lock = workers_.lock();
    note_threads(1);
    workers_.start();
    if (tuned_ && ready_.empty() && !ended_ && was_full_) deepen();
    workers_.wait(lock, [&] { return !ready_.empty() || ended_; });
    if (ready_.empty()) return false;
    Result result = std::move(ready_.front());
    ready_.pop_front();
    workers_.wake_one();
    lock.unlock();
    row = result.take();
    return true;
  }
  void do_save(StateWriter& writer) override {
    const Workers::Pause pause(workers_);
    writer.flag(ended_);
    save_results(writer, ready_);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    ended_ = reader.flag();
    restore_results(reader, ready_);
    input_->restore(reader);
  }

 private:
  bool step(Workers::Lock& lock) {
    if (ended_) return false;
    if (ready_.size() >= std::min(depth_, most())) {
      was_full_ = true;
      return false;
    }
    lock.unlock();
    std::optional<Result> result = pull(*input_);
    const int64_t bytes = result && tuned_ ? bytes_of(result->row) : 0;
    lock.lock();
    largest_bytes_ = std::max(largest_bytes_, bytes);
    ended_ = !result;
    if (result) ready_.push_back(std::move(*result));
    return true;
  }
  // A buffer that was full and ran empty is too small for the variation of the input.
  void deepen() {
    was_full_ = false;
    depth_ = std::min(depth_ * 2, most());
  }
  // Returns how many elements fit in the allowed memory.
  size_t most() const {
    if (!tuned_) return depth_;
    const int64_t fit = bytes_limit_ / std::max<int64_t>(largest_bytes_, 1);
    return std::max(static_cast<size_t>(fit), kFirstDepth);
  }

  const bool tuned_;
  // Guarded by the lock of workers_.
  std::deque<Result> ready_;
  size_t depth_;
  const int64_t bytes_limit_;
  int64_t largest_bytes_ = 0;
  bool was_full_ = false;
  bool ended_ = false;
  Workers workers_;
};

std::unique_ptr<Stage> PrefetchNode::make(const StageContext& context) const {
  return std::make_unique<PrefetchStage>(*this, context);
}

}  // namespace

NodePtr prefetch_node(const NodePtr& input, int64_t buffer_size) {
  return std::make_shared<PrefetchNode>(input, buffer_size);
}

}  // namespace systole::data
