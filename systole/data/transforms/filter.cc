#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class FilterNode final : public DatasetNode {
 public:
  FilterNode(NodePtr input, RowPredicate predicate)
      : DatasetNode("filter", input->spec(), {input}), predicate_(std::move(predicate)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;

  const RowPredicate predicate_;
};

class FilterStage final : public InputStage {
 public:
  FilterStage(const FilterNode& node, const StageContext& context)
      : InputStage(node, context), node_(node), cancellation_(context.cancellation()) {}

 protected:
  bool do_next(Row& row) override {
    while (input_->next(row)) {
      if (node_.predicate_(row)) return true;
      cancellation_.check();
    }
    return false;
  }

 private:
  const FilterNode& node_;
  const Cancellation& cancellation_;
};

std::unique_ptr<Stage> FilterNode::make(const StageContext& context) const {
  return std::make_unique<FilterStage>(*this, context);
}

}  // namespace

NodePtr filter_node(NodePtr input, RowPredicate predicate) {
  return std::make_shared<FilterNode>(std::move(input), std::move(predicate));
}

}  // namespace systole::data
