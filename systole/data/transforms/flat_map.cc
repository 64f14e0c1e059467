#include "systole/data/inner_dataset.h"

namespace systole::data {
namespace {

class FlatMapNode final : public DatasetNode {
 public:
  FlatMapNode(NodePtr input, Spec spec, DatasetMaker maker)
      : DatasetNode("flat_map", std::move(spec), {std::move(input)}), maker(std::move(maker)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  NodePtr body() const override { return maker.body; }
  std::string arguments() const override { return maker.to_string(); }

  const DatasetMaker maker;
};

class FlatMapStage final : public InputStage {
 public:
  FlatMapStage(const FlatMapNode& node, const StageContext& context)
      : InputStage(node, context), node_(node), context_(context) {}

 protected:
  bool do_next(Components& row) override {
    for (;;) {
      if (inner_ == nullptr) {
        Components source;
        if (!input_->next(source)) return false;
        inner_ = std::make_unique<InnerDataset>("flat_map", node_.maker, std::move(source),
                                                index_++, context_, node_.types());
      }
      if (inner_->next(row)) return true;
      inner_.reset();
      context_.cancellation().check();
    }
  }
  void do_save(StateWriter& writer) override {
    writer.number(index_);
    writer.flag(inner_ != nullptr);
    if (inner_ != nullptr) inner_->save(writer);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    index_ = reader.number();
    if (reader.flag()) {
      inner_ = InnerDataset::restored(reader, "flat_map", node_.maker, context_, node_.types());
    }
    input_->restore(reader);
  }

 private:
  const FlatMapNode& node_;
  const StageContext context_;
  std::unique_ptr<InnerDataset> inner_;
  uint64_t index_ = 0;
};

std::unique_ptr<Stage> FlatMapNode::make(const StageContext& context) const {
  return std::make_unique<FlatMapStage>(*this, context);
}

}  // namespace

NodePtr flat_map_node(NodePtr input, Spec spec, DatasetMaker maker) {
  return std::make_shared<FlatMapNode>(std::move(input), std::move(spec), std::move(maker));
}

}  // namespace systole::data
