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

class FilterStage final : public InputStage {
 public:
  FilterStage(const FilterNode& node, const StageContext& context)
      : InputStage(node, context),
        node_(node),
        cancellation_(context.cancellation()),
        calling_(context.calling()) {}

 protected:
  bool do_next(Row& row) override {
    while (input_->next(row)) {
      if (node_.predicate(row, index_++, calling_)) return true;
      cancellation_.check();
    }
    return false;
  }
  void do_save(StateWriter& writer) override {
    writer.number(static_cast<uint64_t>(index_));
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    index_ = static_cast<int64_t>(reader.number());
    input_->restore(reader);
  }

 private:
  const FilterNode& node_;
  const Cancellation& cancellation_;
  const CallContext calling_;
  int64_t index_ = 0;  // of the input's next element
};

std::unique_ptr<Stage> FilterNode::make(const StageContext& context) const {
  return std::make_unique<FilterStage>(*this, context);
}

}  // namespace

NodePtr filter_node(NodePtr input, RowPredicate predicate,
                    std::shared_ptr<const GraphFunction> graph) {
  return std::make_shared<FilterNode>(std::move(input), std::move(predicate), std::move(graph));
}

}  // namespace systole::data
