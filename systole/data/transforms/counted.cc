// take, skip, shard and enumerate: stages that only count elements.
#include <fmt/ranges.h>

#include "systole/data/nodes.h"

namespace systole::data {
namespace {

template <class StageType>
class CountingNode final : public DatasetNode {
 public:
  CountingNode(std::string name, NodePtr input, Spec spec, std::vector<int64_t> numbers)
      : DatasetNode(std::move(name), std::move(spec), {std::move(input)}),
        numbers_(std::move(numbers)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override {
    return std::make_unique<StageType>(*this, context, numbers_);
  }
  std::string arguments() const override { return fmt::format("{}", fmt::join(numbers_, ", ")); }
  NodePtr with_input(const NodePtr& input) const override {
    Spec spec = input->spec();
    if (this->spec() != this->input()->spec()) return nullptr;  // enumerate adds a component
    return std::make_shared<CountingNode>(name(), input, std::move(spec), numbers_);
  }

 private:
  std::vector<int64_t> numbers_;
};

class TakeStage final : public CountingStage {
 public:
  TakeStage(const DatasetNode& node, const StageContext& context, const std::vector<int64_t>& n)
      : CountingStage(node, context), limit_(n[0]) {}

 protected:
  bool do_next(Components& row) override { return goes_on() && taken(input_->next(row)); }
  bool do_next_into(Components& row) override { return goes_on() && taken(input_->next_into(row)); }

 private:
  bool goes_on() const { return limit_ < 0 || count_ < limit_; }
  // A failed element does not count as taken, as in TensorFlow.
  bool taken(bool given) {
    count_ += given ? 1 : 0;
    return given;
  }

  const int64_t limit_;
};

class SkipStage final : public CountingStage {
 public:
  SkipStage(const DatasetNode& node, const StageContext& context, const std::vector<int64_t>& n)
      : CountingStage(node, context), skipped_(n[0]) {}

 protected:
  bool do_next(Components& row) override {
    for (; skipped_ < 0 || count_ < skipped_; ++count_) {
      if (!input_->next(row)) return false;
      cancellation_.check();
    }
    return input_->next(row);
  }

 private:
  const int64_t skipped_;
};

class ShardStage final : public CountingStage {
 public:
  ShardStage(const DatasetNode& node, const StageContext& context, const std::vector<int64_t>& n)
      : CountingStage(node, context), shards_(n[0]), index_(n[1]) {}

 protected:
  bool do_next(Components& row) override {
    while (input_->next(row)) {
      if (count_++ % shards_ == index_) return true;
      cancellation_.check();
    }
    return false;
  }

 private:
  const int64_t shards_;
  const int64_t index_;
};

class EnumerateStage final : public CountingStage {
 public:
  EnumerateStage(const DatasetNode& node, const StageContext& context,
                 const std::vector<int64_t>& n)
      : CountingStage(node, context), start_(n[0]) {}

 protected:
  bool do_next(Components& row) override {
    if (!input_->next(row)) return false;
    row.insert(row.begin(), Tensor(start_ + count_++));
    return true;
  }

 private:
  const int64_t start_;
};

template <class StageType>
NodePtr counting(std::string name, NodePtr input, std::vector<int64_t> numbers) {
  Spec spec = input->spec();
  return std::make_shared<CountingNode<StageType>>(std::move(name), std::move(input),
                                                   std::move(spec), std::move(numbers));
}

}  // namespace

NodePtr take_node(NodePtr input, int64_t count) {
  return counting<TakeStage>("take", std::move(input), {count});
}

NodePtr skip_node(NodePtr input, int64_t count) {
  return counting<SkipStage>("skip", std::move(input), {count});
}

NodePtr shard_node(NodePtr input, int64_t num_shards, int64_t index) {
  return counting<ShardStage>("shard", std::move(input), {num_shards, index});
}

NodePtr enumerate_node(NodePtr input, int64_t start) {
  Spec spec = Spec::tuple({TensorType{DType::s64, {}}, input->spec()});
  return std::make_shared<CountingNode<EnumerateStage>>(
      "enumerate", std::move(input), std::move(spec), std::vector<int64_t>{start});
}

}  // namespace systole::data
