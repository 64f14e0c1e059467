// bucket_by_sequence_length: batches of elements of similar length.
#include <algorithm>

#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class BucketNode final : public DatasetNode {
 public:
  BucketNode(NodePtr input, Spec spec, BucketArguments arguments)
      : DatasetNode("bucket_by_sequence_length", std::move(spec), {std::move(input)}),
        settings(std::move(arguments)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;

  std::shared_ptr<const GraphFunction> graph_function() const override { return settings.graph; }

  // Returns the padding of bucket `i`.
  Padding padding(size_t i) const {
    Padding result = settings.padding;
    if (!settings.options.pad_to_bucket_boundary) return result;
    for (Shape& shape : result.shapes) {
      for (int d = 0; d < shape.rank(); ++d) {
        if (shape[d] == kUnknown) shape.set_dim(d, boundaries()[i] - 1);
      }
    }
    return result;
  }
  const std::vector<int64_t>& boundaries() const { return settings.options.bucket_boundaries; }
  size_t batch_size(size_t i) const {
    return static_cast<size_t>(settings.options.bucket_batch_sizes[i]);
  }

  const BucketArguments settings;
};

class BucketStage final : public InputStage {
 public:
  BucketStage(const BucketNode& node, const StageContext& context)
      : InputStage(node, context),
        node_(node),
        calling_(context.calling()),
        buckets_(node.boundaries().size() + 1) {}

 protected:
  bool do_next(Components& row) override {
    for (Components part; input_->next(part); part.clear()) {
      const size_t i = bucket_of(part);
      buckets_[i].push_back(std::move(part));
      if (buckets_[i].size() == node_.batch_size(i)) return give(i, row);
      cancellation_.check();
    }
    for (size_t i = 0; i < buckets_.size(); ++i) {
      if (!buckets_[i].empty() && !node_.settings.options.drop_remainder) return give(i, row);
    }
    return false;
  }
  void do_save(StateWriter& writer) override {
    writer.number(static_cast<uint64_t>(index_));
    for (const auto& bucket : buckets_) writer.rows(bucket);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    index_ = static_cast<int64_t>(reader.number());
    for (auto& bucket : buckets_) reader.rows(bucket);
    input_->restore(reader);
  }

 private:
  size_t bucket_of(const Components& row) {
    const int64_t index = index_++;
    const int64_t length = node_.settings.length(row, index, calling_);
    const std::vector<int64_t>& boundaries = node_.boundaries();
    const auto i =
        static_cast<size_t>(std::ranges::upper_bound(boundaries, length) - boundaries.begin());
    if (i == boundaries.size() && node_.settings.options.pad_to_bucket_boundary) {
      throw invalid_argument(
          "bucket_by_sequence_length: length of element {}, got {}, expected below {} with "
          "pad_to_bucket_boundary",
          index, length, boundaries.back());
    }
    return i;
  }
  bool give(size_t i, Components& row) {
    const std::vector<Components> rows = std::exchange(buckets_[i], {});
    row = stack_padded("bucket_by_sequence_length", rows, node_.padding(i));
    return true;
  }

  const BucketNode& node_;
  const CallContext calling_;
  std::vector<std::vector<Components>> buckets_;
  int64_t index_ = 0;  // of the input's next element
};

std::unique_ptr<Stage> BucketNode::make(const StageContext& context) const {
  return std::make_unique<BucketStage>(*this, context);
}

}  // namespace

NodePtr bucket_node(NodePtr input, Spec spec, BucketArguments arguments) {
  return std::make_shared<BucketNode>(std::move(input), std::move(spec), std::move(arguments));
}

}  // namespace systole::data
