// interleave without threads: reads the data sets of the cycle in turn.
#include "systole/data/inner_dataset.h"

namespace systole::data {
namespace {

class InterleaveNode final : public DatasetNode {
 public:
  InterleaveNode(NodePtr input, Spec spec, DatasetMaker maker, InterleaveOptions options)
      : DatasetNode("interleave", std::move(spec), {std::move(input)}),
        maker(std::move(maker)),
        options(std::move(options)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  NodePtr body() const override { return maker.body; }
  std::string arguments() const override {
    return fmt::format("{}{}cycle_length={}, block_length={}", maker.to_string(),
                       maker.body == nullptr ? "" : ", ", options.cycle_length,
                       options.block_length);
  }

  const DatasetMaker maker;
  const InterleaveOptions options;
};

class InterleaveStage final : public InputStage {
 public:
  InterleaveStage(const InterleaveNode& node, const StageContext& context)
      : InputStage(node, context),
        node_(node),
        context_(context),
        cycle_(static_cast<size_t>(node.options.cycle_length)) {}

 protected:
  bool do_next(Components& row) override;
  void do_save(StateWriter& writer) override;
  void do_restore(StateReader& reader) override;

 private:
  void advance() {
    position_ = (position_ + 1) % cycle_.size();
    given_ = 0;
  }

  const InterleaveNode& node_;
  const StageContext context_;
  std::vector<std::unique_ptr<InnerDataset>> cycle_;
  size_t position_ = 0;  // the current slot
  int64_t given_ = 0;    // elements of the current block
  uint64_t index_ = 0;
  bool ended_ = false;  // the input
};

bool InterleaveStage::do_next(Components& row) {
  size_t empty_turns = 0;
  while (empty_turns < cycle_.size()) {
    context_.cancellation().check();
    std::unique_ptr<InnerDataset>& inner = cycle_[position_];
    if (inner == nullptr && !ended_) {
      Components source;
      if (input_->next(source)) {
        inner = std::make_unique<InnerDataset>("interleave", node_.maker, std::move(source),
                                               index_++, context_, node_.types());
      } else {
        ended_ = true;
      }
    }
    if (inner == nullptr) {
      ++empty_turns;
      advance();
      continue;
    }
    empty_turns = 0;
    if (!inner->next(row)) {
      inner.reset();
      advance();
      continue;
    }
    if (++given_ == node_.options.block_length) advance();
    return true;
  }
  return false;
}

void InterleaveStage::do_save(StateWriter& writer) {
  writer.number(position_);
  writer.number(static_cast<uint64_t>(given_));
  writer.number(index_);
  writer.flag(ended_);
  for (const auto& inner : cycle_) {
    writer.flag(inner != nullptr);
    if (inner != nullptr) inner->save(writer);
  }
  input_->save(writer);
}

void InterleaveStage::do_restore(StateReader& reader) {
  position_ = reader.number() % cycle_.size();
  given_ = static_cast<int64_t>(reader.number());
  index_ = reader.number();
  ended_ = reader.flag();
  for (auto& inner : cycle_) {
    if (!reader.flag()) continue;
    inner = InnerDataset::restored(reader, "interleave", node_.maker, context_, node_.types());
  }
  input_->restore(reader);
}

std::unique_ptr<Stage> InterleaveNode::make(const StageContext& context) const {
  return std::make_unique<InterleaveStage>(*this, context);
}

}  // namespace

NodePtr interleave_node(NodePtr input, Spec spec, DatasetMaker maker, InterleaveOptions options) {
  if (options.num_parallel_calls != 0) {
    return parallel_interleave_node(std::move(input), std::move(spec), std::move(maker),
                                    std::move(options));
  }
  return std::make_shared<InterleaveNode>(std::move(input), std::move(spec), std::move(maker),
                                          std::move(options));
}

}  // namespace systole::data
