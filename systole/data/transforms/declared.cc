// options, set_shape and the selection of components: nodes that do no work.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class PassStage final : public InputStage {
 public:
  using InputStage::InputStage;

 protected:
  bool do_next(Components& row) override { return input_->next(row); }
  bool do_next_into(Components& row) override { return input_->next_into(row); }
};

class OptionsNode final : public DatasetNode {
 public:
  OptionsNode(const NodePtr& input, DatasetOptions options)
      : DatasetNode("options", input->spec(), {input}), options_(options) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override {
    StageContext changed = context;
    if (options_.deterministic) changed.any_order = !*options_.deterministic;
    if (options_.autotune_threads) changed.autotune_threads = *options_.autotune_threads;
    if (options_.autotune_bytes) changed.autotune_bytes = *options_.autotune_bytes;
    return std::make_unique<PassStage>(*this, changed);
  }

 private:
  const DatasetOptions options_;
};

class SetShapeNode final : public DatasetNode {
 public:
  SetShapeNode(NodePtr input, Spec spec)
      : DatasetNode("set_shape", std::move(spec), {std::move(input)}) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override { return spec().to_string(); }
};

class SetShapeStage final : public InputStage {
 public:
  SetShapeStage(const SetShapeNode& node, const StageContext& context)
      : InputStage(node, context), node_(node) {}

 protected:
  bool do_next(Components& row) override { return input_->next(row) && checked(row); }
  bool do_next_into(Components& row) override { return input_->next_into(row) && checked(row); }

 private:
  bool checked(const Components& row) const {
    check_row("set_shape", row, node_.types());
    return true;
  }

  const SetShapeNode& node_;
};

std::unique_ptr<Stage> SetShapeNode::make(const StageContext& context) const {
  return std::make_unique<SetShapeStage>(*this, context);
}

class SelectNode final : public DatasetNode {
 public:
  SelectNode(NodePtr input, Spec spec, std::vector<size_t> components)
      : DatasetNode("select", std::move(spec), {std::move(input)}),
        components(std::move(components)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;

  const std::vector<size_t> components;
};

class SelectStage final : public InputStage {
 public:
  SelectStage(const SelectNode& node, const StageContext& context)
      : InputStage(node, context), node_(node) {}

 protected:
  bool do_next(Components& row) override {
    if (!input_->next(part_)) return false;
    row.clear();
    for (const size_t component : node_.components) row.push_back(part_[component]);
    check_row("get_next", row, node_.types());
    return true;
  }

 private:
  const SelectNode& node_;
  Components part_;
};

std::unique_ptr<Stage> SelectNode::make(const StageContext& context) const {
  return std::make_unique<SelectStage>(*this, context);
}

}  // namespace

NodePtr options_node(const NodePtr& input, DatasetOptions options) {
  return std::make_shared<OptionsNode>(input, options);
}

NodePtr set_shape_node(NodePtr input, Spec spec) {
  return std::make_shared<SetShapeNode>(std::move(input), std::move(spec));
}

NodePtr select_node(NodePtr input, Spec spec, std::vector<size_t> components) {
  return std::make_shared<SelectNode>(std::move(input), std::move(spec), std::move(components));
}

}  // namespace systole::data
