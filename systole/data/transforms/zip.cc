#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class ZipNode final : public DatasetNode {
 public:
  ZipNode(std::vector<NodePtr> inputs, Spec spec)
      : DatasetNode("zip", std::move(spec), std::move(inputs)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
};

class ZipStage final : public Stage {
 public:
  ZipStage(const ZipNode& node, const StageContext& context) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      inputs_.push_back(make_stage(node.inputs()[i], context.in_branch(i)));
    }
  }

 protected:
  bool do_next(Components& row) override {
    row.clear();
    if (ended_) return false;
    // Reads all inputs even if one fails, to keep them aligned.
    std::optional<Error> error;
    for (auto& input : inputs_) {
      try {
        if (!input->next(part_)) ended_ = true;
      } catch (...) {
        if (!error) error = current_error();
        continue;
      }
      if (ended_) return false;
      std::ranges::move(part_, std::back_inserter(row));
    }
    if (error) throw Error(*error);
    return true;
  }
  void do_save(StateWriter& writer) override {
    writer.flag(ended_);
    for (auto& input : inputs_) input->save(writer);
  }
  void do_restore(StateReader& reader) override {
    ended_ = reader.flag();
    for (auto& input : inputs_) input->restore(reader);
  }

 private:
  std::vector<std::unique_ptr<Stage>> inputs_;
  Components part_;
  bool ended_ = false;
};

std::unique_ptr<Stage> ZipNode::make(const StageContext& context) const {
  return std::make_unique<ZipStage>(*this, context);
}

}  // namespace

NodePtr zip_node(std::vector<NodePtr> inputs, Spec spec) {
  return std::make_shared<ZipNode>(std::move(inputs), std::move(spec));
}

}  // namespace systole::data
