#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class ConcatenateNode final : public DatasetNode {
 public:
  ConcatenateNode(NodePtr first, NodePtr second, Spec spec)
      : DatasetNode("concatenate", std::move(spec), {std::move(first), std::move(second)}) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
};

class ConcatenateStage final : public Stage {
 public:
  ConcatenateStage(const ConcatenateNode& node, const StageContext& context)
      : node_(node), context_(context) {
    open(0);
  }

 protected:
  bool do_next(Components& row) override {
    while (!input_->next(row)) {
      if (which_ == 1) return false;
      open(1);
    }
    return true;
  }
  void do_save(StateWriter& writer) override {
    writer.number(which_);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    if (reader.number() == 1) open(1);
    input_->restore(reader);
  }

 private:
  void open(size_t which) {
    which_ = which;
    input_ = make_stage(node_.inputs()[which], context_.in_branch(which));
  }

  const ConcatenateNode& node_;
  const StageContext context_;
  size_t which_ = 0;
  std::unique_ptr<Stage> input_;
};

std::unique_ptr<Stage> ConcatenateNode::make(const StageContext& context) const {
  return std::make_unique<ConcatenateStage>(*this, context);
}

}  // namespace

NodePtr concatenate_node(NodePtr first, NodePtr second, Spec spec) {
  return std::make_shared<ConcatenateNode>(std::move(first), std::move(second), std::move(spec));
}

}  // namespace systole::data
