// map on the consumer's thread. A function that can be vectorized is called for several elements at
// once: first for one, then for twice as many each time.
#include <deque>

#include "systole/data/graph_function.h"
#include "systole/data/nodes.h"
#include "systole/data/recycle.h"

namespace systole::data {
namespace {

constexpr size_t kLargestChunk = 64;

class MapNode final : public DatasetNode {
 public:
  MapNode(std::string name, NodePtr input, Spec spec, MapArguments arguments)
      : DatasetNode(std::move(name), std::move(spec), {std::move(input)}),
        settings(std::move(arguments)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  const MapArguments* map_arguments() const override { return &settings; }

  const MapArguments settings;
};

class MapStage final : public CountingStage {
 public:
  MapStage(const MapNode& node, const StageContext& context)
      : CountingStage(node, context), arguments_(node.settings), calling_(context.calling()) {}

 protected:
  bool do_next(Components& row) override {
    if (arguments_.graph != nullptr) return do_next_into(row);
    if (!input_->next(row)) return false;
    row = arguments_.fn(std::move(row), count_++);
    return true;
  }
  bool do_next_into(Components& row) override {
    if (arguments_.graph == nullptr) return InputStage::do_next_into(row);
    Components argument;
    if (!input_->next(argument)) return false;
    keep_own(row);
    arguments_.graph->call_into(argument, count_++, calling_, row);
    return true;
  }

 private:
  const MapArguments& arguments_;
  const CallContext calling_;
};

class ChunkedMapStage final : public InputStage {
 public:
  ChunkedMapStage(const MapNode& node, const StageContext& context)
      : InputStage(node, context), function_(*node.settings.graph), calling_(context.calling()) {}

 protected:
  bool do_next(Components& row) override {
    if (ready_.empty() && !ended_) fill();
    if (ready_.empty()) return false;
    Result result = std::move(ready_.front());
    ready_.pop_front();
    row = result.take();
    return true;
  }
  void do_save(StateWriter& writer) override {
    writer.number(static_cast<uint64_t>(index_));
    writer.flag(ended_);
    save_results(writer, ready_);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    index_ = static_cast<int64_t>(reader.number());
    ended_ = reader.flag();
    restore_results(reader, ready_);
    input_->restore(reader);
  }
  std::string_view form() const override { return " in chunks"; }

 private:
  void fill() {
    std::vector<Result> chunk;
    ended_ = !pull_chunk(*input_, chunk_size_, chunk);
    const int64_t taken = elements_in(chunk);
    function_.call_all(chunk, index_, calling_);
    cancellation_.check();  // a cancelled call leaves elements unchanged
    std::ranges::move(chunk, std::back_inserter(ready_));
    index_ += taken;
    chunk_size_ = std::min(chunk_size_ * 2, kLargestChunk);
  }

  const GraphFunction& function_;
  const CallContext calling_;
  std::deque<Result> ready_;
  size_t chunk_size_ = 1;
  int64_t index_ = 0;
  bool ended_ = false;
};

std::unique_ptr<Stage> MapNode::make(const StageContext& context) const {
  if (settings.graph != nullptr && settings.graph->worth_chunks()) {
    return std::make_unique<ChunkedMapStage>(*this, context);
  }
  return std::make_unique<MapStage>(*this, context);
}

}  // namespace

NodePtr map_node(std::string name, NodePtr input, Spec spec, MapArguments arguments) {
  if (arguments.num_parallel_calls != 0) {
    return parallel_map_node(std::move(name), std::move(input), std::move(spec),
                             std::move(arguments));
  }
  return std::make_shared<MapNode>(std::move(name), std::move(input), std::move(spec),
                                   std::move(arguments));
}

}  // namespace systole::data
