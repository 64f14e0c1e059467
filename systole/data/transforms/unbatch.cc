// unbatch: the slices of each element, sharing its memory.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

Spec row_spec(const Spec& spec) {
  return spec.map([](const TensorType& type) {
    return TensorType{type.dtype, without_first(type.shape)};
  });
}

class UnbatchNode final : public DatasetNode {
 public:
  explicit UnbatchNode(const NodePtr& input)
      : DatasetNode("unbatch", row_spec(input->spec()), {input}) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
};

class UnbatchStage final : public InputStage {
 public:
  using InputStage::InputStage;

 protected:
  bool do_next(Components& row) override {
    while (next_ >= size_) {
      size_ = 0;
      next_ = 0;
      if (!input_->next(batch_)) return false;
      size_ = check_size();
      cancellation_.check();
    }
    row.resize(batch_.size());
    for (size_t c = 0; c < row.size(); ++c) row[c] = row_of(batch_[c], next_);
    ++next_;
    return true;
  }
  void do_save(StateWriter& writer) override {
    const bool inside = next_ < size_;
    writer.flag(inside);
    if (inside) {
      writer.number(static_cast<uint64_t>(next_));
      writer.row(batch_);
    }
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    if (reader.flag()) {
      next_ = static_cast<int64_t>(reader.number());
      batch_ = reader.row();
      size_ = check_size();
    }
    input_->restore(reader);
  }

 private:
  int64_t check_size() const {
    for (const Tensor& tensor : batch_) {
      if (tensor.rank() > 0 && tensor.dim(0) == batch_.front().dim(0)) continue;
      throw invalid_argument(
          "unbatch: first dimension of a component, got {}, expected {} as of {}", tensor.type(),
          batch_.front().dim(0), batch_.front().type());
    }
    return batch_.front().dim(0);
  }

  Components batch_;
  int64_t next_ = 0;
  int64_t size_ = 0;
};

std::unique_ptr<Stage> UnbatchNode::make(const StageContext& context) const {
  return std::make_unique<UnbatchStage>(*this, context);
}

}  // namespace

NodePtr unbatch_node(const NodePtr& input) { return std::make_shared<UnbatchNode>(input); }

}  // namespace systole::data
