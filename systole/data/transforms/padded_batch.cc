#include "systole/data/nodes.h"

namespace systole::data {
namespace {

Spec padded_spec(const Spec& spec, const Padding& padding, int64_t size) {
  size_t next = 0;
  const Spec padded = spec.map([&](const TensorType& type) {
    return TensorType{type.dtype, padding.shapes[next++]};
  });
  return batched(padded, size);
}

class PaddedBatchNode final : public DatasetNode {
 public:
  PaddedBatchNode(const NodePtr& input, int64_t batch_size, Padding padding, bool drop_remainder)
      : DatasetNode("padded_batch",
                    padded_spec(input->spec(), padding, drop_remainder ? batch_size : kUnknown),
                    {input}),
        batch_size(static_cast<size_t>(batch_size)),
        padding(std::move(padding)),
        drop_remainder(drop_remainder) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override {
    return fmt::format("{}{}", batch_size, drop_remainder ? ", drop_remainder" : "");
  }

  const size_t batch_size;
  const Padding padding;
  const bool drop_remainder;
};

class PaddedBatchStage final : public InputStage {
 public:
  PaddedBatchStage(const PaddedBatchNode& node, const StageContext& context)
      : InputStage(node, context), node_(node) {}

 protected:
  bool do_next(Components& row) override {
    std::vector<Components> rows;
    for (Components part; rows.size() < node_.batch_size && input_->next(part);) {
      rows.push_back(std::move(part));
      part.clear();
      cancellation_.check();
    }
    const bool full = rows.size() == node_.batch_size;
    if (rows.empty() || (node_.drop_remainder && !full)) return false;
    row = stack_padded("padded_batch", rows, node_.padding);
    return true;
  }

 private:
  const PaddedBatchNode& node_;
};

std::unique_ptr<Stage> PaddedBatchNode::make(const StageContext& context) const {
  return std::make_unique<PaddedBatchStage>(*this, context);
}

}  // namespace

NodePtr padded_batch_node(const NodePtr& input, int64_t batch_size, Padding padding,
                          bool drop_remainder) {
  return std::make_shared<PaddedBatchNode>(input, batch_size, std::move(padding), drop_remainder);
}

}  // namespace systole::data
