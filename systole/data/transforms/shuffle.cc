// shuffle: a buffer of the next elements, from which one is drawn at a time. (TensorFlow's
// algorithm; the numbers drawn are ours.)
#include "systole/base/random.h"
#include "systole/data/nodes.h"
#include "systole/data/transforms/row_store.h"

namespace systole::data {
namespace {

class ShuffleNode final : public DatasetNode {
 public:
  ShuffleNode(NodePtr input, int64_t buffer_size, std::optional<uint64_t> seed, bool reshuffle)
      : DatasetNode("shuffle", input->spec(), {input}),
        buffer_size_(static_cast<size_t>(buffer_size)),
        seed_(seed),
        reshuffle_(reshuffle) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override { return std::to_string(buffer_size_); }
  NodePtr with_input(NodePtr input) const override {
    return std::make_shared<ShuffleNode>(std::move(input), static_cast<int64_t>(buffer_size_),
                                         seed_, reshuffle_);
  }

  const size_t buffer_size_;
  const std::optional<uint64_t> seed_;
  const bool reshuffle_;
};

class ShuffleStage final : public InputStage {
 public:
  ShuffleStage(const ShuffleNode& node, const StageContext& context)
      : InputStage(node, context),
        node_(node),
        buffer_size_(node.buffer_size_),
        cancellation_(context.cancellation()),
        key_(drawing_key(node.seed_, context, node)),
        stream_(node.reshuffle_ ? context.epoch : 0),
        random_(key_, stream_),
        buffer_(node.types()) {}

 protected:
  bool do_next(Row& row) override {
    while (!ended_ && buffer_.size() + 1 < buffer_size_) {
      ended_ = !input_->next(row);
      if (!ended_) buffer_.push(row);
      cancellation_.check();
    }
    // The buffer's last element need not go there: it is the one, or takes the place of the one.
    ended_ = ended_ || !input_->next(row);
    const size_t size = buffer_.size() + (ended_ ? 0 : 1);
    if (size == 0) return false;
    const size_t i = draw(size);
    if (ended_) {
      buffer_.take(i, row);
    } else {
      if (i < buffer_.size()) buffer_.exchange(i, row);
      draw_ahead(size);
    }
    return true;
  }
  void do_save(StateWriter& writer) override {
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
  // The element of the next call is on its way to the caches while others work on this one.
  void draw_ahead(size_t size) {
    position_ = random_.position();
    ahead_ = random_.next_below(size);
    ahead_size_ = size;
    if (ahead_ < buffer_.size()) buffer_.touch(ahead_);
  }

  const ShuffleNode& node_;
  const size_t buffer_size_;
  const Cancellation& cancellation_;
  uint64_t key_;
  uint64_t stream_;
  RandomStream random_;
  RowStore buffer_;
  size_t ahead_ = 0;       // drawn for the next call
  size_t ahead_size_ = 0;  // among so many; 0: nothing is drawn
  uint64_t position_ = 0;  // of random_ before that
  bool ended_ = false;
};

std::unique_ptr<Stage> ShuffleNode::make(const StageContext& context) const {
  return std::make_unique<ShuffleStage>(*this, context);
}

}  // namespace

NodePtr shuffle_node(NodePtr input, int64_t buffer_size, std::optional<uint64_t> seed,
                     bool reshuffle) {
  return std::make_shared<ShuffleNode>(std::move(input), buffer_size, seed, reshuffle);
}

}  // namespace systole::data
