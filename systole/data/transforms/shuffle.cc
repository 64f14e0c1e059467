// shuffle: draws from a buffer of the next elements. (TensorFlow's algorithm with another random
// generator)
#include "systole/base/random.h"
#include "systole/data/nodes.h"
#include "systole/data/transforms/row_store.h"

namespace systole::data {
namespace {

class ShuffleNode final : public DatasetNode {
 public:
  ShuffleNode(const NodePtr& input, int64_t buffer_size, std::optional<uint64_t> seed,
              bool reshuffle)
      : DatasetNode("shuffle", input->spec(), {input}),
        buffer_size(static_cast<size_t>(buffer_size)),
        seed(seed),
        reshuffle(reshuffle) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override { return std::to_string(buffer_size); }
  NodePtr with_input(const NodePtr& input) const override {
    return std::make_shared<ShuffleNode>(input, static_cast<int64_t>(buffer_size), seed, reshuffle);
  }

  const size_t buffer_size;
  const std::optional<uint64_t> seed;
  const bool reshuffle;
};

class ShuffleStage final : public InputStage {
 public:
  ShuffleStage(const ShuffleNode& node, const StageContext& context)
      : InputStage(node, context),
        node_(node),
        buffer_size_(node.buffer_size),
        key_(drawing_key(node.seed, context, node)),
        stream_(node.reshuffle ? context.epoch : 0),
        random_(key_, stream_),
        buffer_(node.types(), node.buffer_size) {}

 protected:
  bool do_next(Components& row) override {
    settle();
    fill([&] { return input_->next(row); }, [&] { buffer_.push(row); });
    // Skips storing the newest element: it is the one drawn, or takes the place of the one drawn.
    ended_ = ended_ || !input_->next(row);
    const size_t size = buffer_.size() + (ended_ ? 0 : 1);
    if (size == 0) return false;
    const size_t i = draw(size);
    if (ended_) {
      buffer_.take(i, row);
    } else if (i < buffer_.size()) {
      buffer_.exchange(i, row);
    }
    if (draw_ahead(ended_ ? size - 1 : size)) buffer_.touch(ahead_);
    return true;
  }
  // As do_next, but the drawn string stays in the buffer until the next call.
  bool do_next_text(std::string_view& text) override {
    settle();
    fill([&] { return input_->next_text(text); }, [&] { buffer_.push_text(text); });
    ended_ = ended_ || !input_->next_text(text);
    const size_t size = buffer_.size() + (ended_ ? 0 : 1);
    if (size == 0) return false;
    const size_t i = draw(size);
    if (i < buffer_.size()) {
      vacated_ = i;
      coming_ = std::exchange(text, buffer_.text(i));
    }
    // After the end of input, the last element of the buffer takes the place of the drawn one.
    const bool drawn = draw_ahead(ended_ ? size - 1 : size);
    if (drawn) buffer_.touch_text(ended_ && ahead_ == i ? size - 1 : ahead_);
    return true;
  }
  void do_save(StateWriter& writer) override {
    settle();
    writer.number(key_);
    writer.number(stream_);
    writer.number(ahead_size_ > 0 ? position_ : random_.position());
    writer.flag(ended_);
    buffer_.save(writer);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    key_ = reader.number();
    stream_ = reader.number();
    random_ = RandomStream(key_, stream_);
    random_.seek(reader.number());
    ahead_size_ = 0;
    ended_ = reader.flag();
    buffer_.restore(reader, node_.types());
    input_->restore(reader);
  }

 private:
  size_t draw(size_t size) {
    const size_t ahead_size = std::exchange(ahead_size_, 0);
    if (ahead_size == size) return ahead_;
    if (ahead_size > 0) random_.seek(position_);
    return random_.next_below(size);
  }
  // Prefetches the element that the next call returns. Returns false if it is not in the buffer.
  bool draw_ahead(size_t size) {
    if (size == 0) return false;
    position_ = random_.position();
    ahead_ = random_.next_below(size);
    ahead_size_ = size;
    return ahead_ < buffer_.size();
  }
  // Fills the buffer except for one element, or until the input ends.
  template <class Ask, class Keep>
  void fill(const Ask& ask, const Keep& keep) {
    while (!ended_ && buffer_.size() + 1 < buffer_size_) {
      ended_ = !ask();
      if (!ended_) keep();
      cancellation_.check();
    }
  }
  // Fills the place of the returned string with the newest one, or with the buffer's last.
  void settle() {
    if (!vacated_) return;
    if (ended_) {
      buffer_.drop_text(*vacated_);
    } else {
      buffer_.set_text(*vacated_, coming_);
    }
    vacated_.reset();
  }

  const ShuffleNode& node_;
  const size_t buffer_size_;
  uint64_t key_;
  uint64_t stream_;
  RandomStream random_;
  RowStore buffer_;
  size_t ahead_ = 0;       // drawn for the next call
  size_t ahead_size_ = 0;  // number of elements at the draw; 0: nothing is drawn
  uint64_t position_ = 0;  // of random_ before that
  bool ended_ = false;
  std::optional<size_t> vacated_;  // buffer index of the returned string
  std::string_view coming_;        // the string to store there, in the input's memory
};

std::unique_ptr<Stage> ShuffleNode::make(const StageContext& context) const {
  return std::make_unique<ShuffleStage>(*this, context);
}

}  // namespace

NodePtr shuffle_node(const NodePtr& input, int64_t buffer_size, std::optional<uint64_t> seed,
                     bool reshuffle) {
  return std::make_shared<ShuffleNode>(input, buffer_size, seed, reshuffle);
}

}  // namespace systole::data
