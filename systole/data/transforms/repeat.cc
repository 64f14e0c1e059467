// repeat: runs the input anew for each epoch.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class RepeatNode final : public DatasetNode {
 public:
  RepeatNode(const NodePtr& input, int64_t count)
      : DatasetNode("repeat", input->spec(), {input}), count(count) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override { return count < 0 ? "" : std::to_string(count); }
  NodePtr with_input(const NodePtr& input) const override {
    return std::make_shared<RepeatNode>(input, count);
  }

  const int64_t count;
};

class RepeatStage final : public Stage {
 public:
  RepeatStage(const RepeatNode& node, const StageContext& context)
      : node_(node), context_(context) {
    open();
  }

 protected:
  bool do_next(Components& row) override {
    return next_of_epochs([&] { return input_->next(row); });
  }
  bool do_next_into(Components& row) override {
    return next_of_epochs([&] { return input_->next_into(row); });
  }
  bool do_next_text(std::string_view& text) override {
    return next_of_epochs([&] { return input_->next_text(text); });
  }
  void do_save(StateWriter& writer) override {
    writer.number(epoch_);
    writer.flag(input_ != nullptr);
    writer.flag(empty_);
    writer.flag(ended_);
    if (input_ != nullptr) input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    epoch_ = reader.number();
    if (!reader.flag()) {
      input_.reset();
    } else if (epoch_ > 0) {
      open();
    }
    empty_ = reader.flag();
    ended_ = reader.flag();
    if (input_ != nullptr) input_->restore(reader);
  }

 private:
  template <class Ask>
  bool next_of_epochs(const Ask& ask) {
    while (!ended_) {
      if (input_ == nullptr) open();  // making it failed at the start of the epoch
      try {
        if (node_.count != 0 && ask()) {
          empty_ = false;
          return true;
        }
      } catch (const Error&) {
        empty_ = false;  // an epoch that fails is not an empty one
        throw;
      }
      ended_ = node_.count < 0 ? empty_ : epoch_ + 1 >= static_cast<uint64_t>(node_.count);
      if (ended_) break;
      context_.cancellation().check();
      ++epoch_;
      open();
    }
    return false;
  }
  void open() {
    input_.reset();
    input_ = make_stage(node_.input(), context_.in_epoch(epoch_));
    empty_ = true;
  }

  const RepeatNode& node_;
  const StageContext context_;
  uint64_t epoch_ = 0;
  bool empty_ = true;  // no element in this epoch yet
  bool ended_ = false;
  std::unique_ptr<Stage> input_;  // null if it could not be made
};

std::unique_ptr<Stage> RepeatNode::make(const StageContext& context) const {
  return std::make_unique<RepeatStage>(*this, context);
}

}  // namespace

NodePtr repeat_node(const NodePtr& input, int64_t count) {
  return std::make_shared<RepeatNode>(input, count);
}

}  // namespace systole::data
