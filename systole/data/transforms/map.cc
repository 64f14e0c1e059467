// map with the function called by the consumer.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class MapNode final : public DatasetNode {
 public:
  MapNode(std::string name, NodePtr input, Spec spec, RowFunction fn)
      : DatasetNode(std::move(name), std::move(spec), {std::move(input)}), fn_(std::move(fn)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;

  const RowFunction fn_;
};

class MapStage final : public InputStage {
 public:
  MapStage(const MapNode& node, const StageContext& context)
      : InputStage(node, context), node_(node) {}

 protected:
  bool do_next(Row& row) override {
    if (!input_->next(row)) return false;
    row = node_.fn_(std::move(row), index_++);
    return true;
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
  const MapNode& node_;
  int64_t index_ = 0;
};

std::unique_ptr<Stage> MapNode::make(const StageContext& context) const {
  return std::make_unique<MapStage>(*this, context);
}

}  // namespace

NodePtr map_node(std::string name, NodePtr input, Spec spec, MapArguments arguments) {
  if (arguments.num_parallel_calls != 0) {
    return parallel_map_node(std::move(name), std::move(input), std::move(spec),
                             std::move(arguments));
  }
  return std::make_shared<MapNode>(std::move(name), std::move(input), std::move(spec),
                                   std::move(arguments.fn));
}

}  // namespace systole::data
