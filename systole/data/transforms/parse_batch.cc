// batch fused with the parser of tf.Examples that the following map starts with: parses each record
// in place, once, and reuses its memory.
#include "systole/data/nodes.h"
#include "systole/session/kernels/example_parser.h"

namespace systole::data {
namespace {

// Capacity of the first batch in records.
constexpr size_t kFirstLikely = 64;

class ParseBatchNode final : public DatasetNode {
 public:
  ParseBatchNode(NodePtr input, Spec spec, ParseBatchArguments arguments)
      : DatasetNode("parse_batch", std::move(spec), {std::move(input)}),
        settings(std::move(arguments)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::shared_ptr<const GraphFunction> graph_function() const override { return settings.graph; }
  std::string arguments() const override {
    return fmt::format("{}{}", settings.batch_size,
                       settings.drop_remainder ? ", drop_remainder" : "");
  }

  const ParseBatchArguments settings;
};

class ParseBatchStage final : public CountingStage {
 public:
  ParseBatchStage(const ParseBatchNode& node, const StageContext& context)
      : CountingStage(node, context), arguments_(node.settings) {}

 protected:
  bool do_next(Components& row) override {
    std::string_view text;
    if (ended_ || !input_->next_text(text)) {
      ended_ = true;
      return false;
    }
    const auto most = static_cast<size_t>(arguments_.batch_size);
    // After one whole batch the next is likely to be whole.
    ExampleBatch batch(arguments_.schema, count_ > 0 ? most : kFirstLikely, most,
                       arguments_.defaults);
    std::optional<Error> error;
    int64_t size = 0;
    do {
      if (!error) error = add(text, size, batch);
      if (++size == arguments_.batch_size) break;
      cancellation_.check();
    } while (!(ended_ = !input_->next_text(text)));
    if (size < arguments_.batch_size && arguments_.drop_remainder) return false;
    ++count_;
    if (error) throw Error(*error);  // the whole batch is dropped, as after a failed map
    row = batch.finish();
    return true;
  }

 private:
  // `i` is the index in its batch.
  std::optional<Error> add(std::string_view text, int64_t i, ExampleBatch& batch) const {
    try {
      batch.add(text);
      return std::nullopt;
    } catch (const Error& error) {
      return Error(error.code(), "ParseExample: " + error.message())
          .with_context(arguments_.parser)
          .with_context(fmt::format("map: element {}", count_ * arguments_.batch_size + i));
    }
  }

  const ParseBatchArguments& arguments_;
  bool ended_ = false;
};

std::unique_ptr<Stage> ParseBatchNode::make(const StageContext& context) const {
  return std::make_unique<ParseBatchStage>(*this, context);
}

}  // namespace

NodePtr parse_batch_node(NodePtr input, Spec spec, ParseBatchArguments arguments) {
  return std::make_shared<ParseBatchNode>(std::move(input), std::move(spec), std::move(arguments));
}

}  // namespace systole::data
