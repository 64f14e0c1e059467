// from_tensor_slices: slices that share the memory of their tensors.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class SlicesStage final : public Stage {
 public:
  explicit SlicesStage(const Components& tensors) : tensors_(tensors) {}

 protected:
  bool do_next(Components& row) override {
    if (next_ >= tensors_.front().dim(0)) return false;
    row.resize(tensors_.size());
    for (size_t i = 0; i < row.size(); ++i) row[i] = row_of(tensors_[i], next_);
    ++next_;
    return true;
  }
  void do_save(StateWriter& writer) override { writer.number(static_cast<uint64_t>(next_)); }
  void do_restore(StateReader& reader) override { next_ = static_cast<int64_t>(reader.number()); }

 private:
  const Components& tensors_;
  int64_t next_ = 0;
};

class SlicesNode final : public DatasetNode {
 public:
  SlicesNode(Spec spec, Components tensors)
      : DatasetNode("from_tensor_slices", std::move(spec)), tensors_(std::move(tensors)) {}
  std::unique_ptr<Stage> make(const StageContext&) const override {
    return std::make_unique<SlicesStage>(tensors_);
  }
  std::string arguments() const override { return std::to_string(tensors_.front().dim(0)); }
  const Components* sliced_tensors() const override { return &tensors_; }

 private:
  Components tensors_;
};

}  // namespace

NodePtr slices_node(Spec spec, Components tensors) {
  return std::make_shared<SlicesNode>(std::move(spec), std::move(tensors));
}

}  // namespace systole::data
