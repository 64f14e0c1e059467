// window: stacks `size` elements that are `stride` apart. The next window starts `shift` elements
// later.
#include <algorithm>
#include <deque>

#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class WindowNode final : public DatasetNode {
 public:
  WindowNode(const NodePtr& input, int64_t size, int64_t shift, int64_t stride, bool drop_remainder)
      : DatasetNode("window", batched(input->spec(), drop_remainder ? size : kUnknown), {input}),
        size(size),
        shift(shift),
        stride(stride),
        drop_remainder(drop_remainder) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override {
    return fmt::format("{}, shift={}, stride={}{}", size, shift, stride,
                       drop_remainder ? ", drop_remainder" : "");
  }

  const int64_t size;
  const int64_t shift;
  const int64_t stride;
  const bool drop_remainder;
};

class WindowStage final : public InputStage {
 public:
  WindowStage(const WindowNode& node, const StageContext& context)
      : InputStage(node, context), node_(node) {}

 protected:
  bool do_next(Components& row) override {
    // The buffer holds the elements from the start of the window to its end.
    const size_t span = static_cast<size_t>((node_.size - 1) * node_.stride + 1);
    for (Components part; skip_ > 0 && input_->next(part); --skip_) cancellation_.check();
    for (Components part; buffer_.size() < span && input_->next(part); part.clear()) {
      buffer_.push_back(std::move(part));
      cancellation_.check();
    }
    if (buffer_.empty() || (node_.drop_remainder && buffer_.size() < span)) return false;
    std::vector<Components> window;
    for (size_t i = 0; i < buffer_.size(); i += static_cast<size_t>(node_.stride)) {
      window.push_back(buffer_[i]);
    }
    const int64_t passed = std::min(node_.shift, static_cast<int64_t>(buffer_.size()));
    buffer_.erase(buffer_.begin(), buffer_.begin() + passed);
    skip_ += node_.shift - passed;
    row = stack_rows("window", window);
    return true;
  }
  void do_save(StateWriter& writer) override {
    writer.number(static_cast<uint64_t>(skip_));
    writer.rows(buffer_);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    skip_ = static_cast<int64_t>(reader.number());
    reader.rows(buffer_);
    input_->restore(reader);
  }

 private:
  const WindowNode& node_;
  std::deque<Components> buffer_;
  int64_t skip_ = 0;  // elements between the last window and the next
};

std::unique_ptr<Stage> WindowNode::make(const StageContext& context) const {
  return std::make_unique<WindowStage>(*this, context);
}

}  // namespace

NodePtr window_node(const NodePtr& input, int64_t size, int64_t shift, int64_t stride,
                    bool drop_remainder) {
  return std::make_shared<WindowNode>(input, size, shift, stride, drop_remainder);
}

}  // namespace systole::data
