#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class FilterNode final : public DatasetNode {
 public:
  FilterNode(const NodePtr& input, RowPredicate predicate,
             std::shared_ptr<const GraphFunction> graph)
      : DatasetNode("filter", input->spec(), {input}),
        predicate(std::move(predicate)),
        graph_(std::move(graph)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;

  std::shared_ptr<const GraphFunction> graph_function() const override { return graph_; }

  const RowPredicate predicate;

 private:
  const std::shared_ptr<const GraphFunction> graph_;
};

class FilterStage final : public CountingStage {
 public:
  FilterStage(const FilterNode& node, const StageContext& context)
      : CountingStage(node, context), node_(node), calling_(context.calling()) {}

 protected:
  bool do_next(Components& row) override {
    while (input_->next(row)) {
      if (node_.predicate(row, count_++, calling_)) return true;
      cancellation_.check();
    }
    return false;
  }

 private:
  const FilterNode& node_;
  const CallContext calling_;
};

std::unique_ptr<Stage> FilterNode::make(const StageContext& context) const {
  return std::make_unique<FilterStage>(*this, context);
}

}  // namespace

NodePtr filter_node(const NodePtr& input, RowPredicate predicate,
                    std::shared_ptr<const GraphFunction> graph) {
  return std::make_shared<FilterNode>(input, std::move(predicate), std::move(graph));
}

}  // namespace systole::data
