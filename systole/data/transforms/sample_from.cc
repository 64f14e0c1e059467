// sample_from_datasets: draws each element from an input by weight.
#include <numeric>

#include "systole/base/random.h"
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class SampleNode final : public DatasetNode {
 public:
  SampleNode(std::vector<NodePtr> inputs, Spec spec, std::vector<double> weights,
             std::optional<uint64_t> seed)
      : DatasetNode("sample_from_datasets", std::move(spec), std::move(inputs)),
        weights(std::move(weights)),
        seed(seed) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;

  const std::vector<double> weights;
  const std::optional<uint64_t> seed;
};

class SampleStage final : public Stage {
 public:
  SampleStage(const SampleNode& node, const StageContext& context)
      : weights_(node.weights),
        key_(drawing_key(node.seed, context, node)),
        stream_(context.epoch),
        random_(key_, stream_) {
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      inputs_.push_back(make_stage(node.inputs()[i], context.in_branch(i)));
    }
  }

 protected:
  bool do_next(Components& row) override {
    for (;;) {
      const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
      if (total <= 0) return false;
      const size_t drawn = draw(total);
      if (inputs_[drawn]->next(row)) return true;
      weights_[drawn] = 0;
    }
  }
  void do_save(StateWriter& writer) override {
    writer.number(key_);
    writer.number(stream_);
    writer.number(random_.position());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      writer.flag(weights_[i] > 0);
      inputs_[i]->save(writer);
    }
  }
  void do_restore(StateReader& reader) override {
    key_ = reader.number();
    stream_ = reader.number();
    random_ = RandomStream(key_, stream_);
    random_.seek(reader.number());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!reader.flag()) weights_[i] = 0;
      inputs_[i]->restore(reader);
    }
  }

 private:
  size_t draw(double total) {
    double left = random_.next_uniform() * total;
    size_t last = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] <= 0) continue;
      last = i;
      left -= weights_[i];
      if (left < 0) break;
    }
    return last;
  }

  std::vector<std::unique_ptr<Stage>> inputs_;
  std::vector<double> weights_;  // 0 for ended inputs
  uint64_t key_;
  uint64_t stream_;
  RandomStream random_;
};

std::unique_ptr<Stage> SampleNode::make(const StageContext& context) const {
  return std::make_unique<SampleStage>(*this, context);
}

}  // namespace

NodePtr sample_node(std::vector<NodePtr> inputs, Spec spec, std::vector<double> weights,
                    std::optional<uint64_t> seed) {
  return std::make_shared<SampleNode>(std::move(inputs), std::move(spec), std::move(weights), seed);
}

}  // namespace systole::data
