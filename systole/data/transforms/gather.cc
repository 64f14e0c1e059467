// Gathers slices of tensors by index, a batch at a time: from_tensor_slices before a batch.
#include <cstring>

#include "systole/base/prefetch.h"
#include "systole/data/nodes.h"
#include "systole/data/recycle.h"

namespace systole::data {
namespace {

class GatherNode final : public DatasetNode {
 public:
  GatherNode(NodePtr indices, Spec spec, Components tensors)
      : DatasetNode("gather", std::move(spec), {std::move(indices)}), tensors(std::move(tensors)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override { return std::to_string(tensors.front().dim(0)); }

  const Components tensors;
};

// Prefetch distance: the slices of a shuffle are scattered in memory.
constexpr size_t kAhead = 4;

void gather_rows(const Tensor& tensor, std::span<const int64_t> indices, Tensor& result) {
  Shape shape = tensor.shape();
  shape.set_dim(0, static_cast<int64_t>(indices.size()));
  make_room(result, tensor.dtype(), shape);
  const int64_t count = tensor.dim(0) == 0 ? 0 : tensor.num_elements() / tensor.dim(0);
  if (tensor.dtype() == DType::string) {
    const auto from = tensor.data<std::string>().begin();
    auto to = result.data<std::string>().begin();
    for (const int64_t i : indices) to = std::copy_n(from + i * count, count, to);
    return;
  }
  const auto bytes = static_cast<size_t>(count * size_of(tensor.dtype()));
  const auto at = [&](int64_t row) { return static_cast<size_t>(row) * bytes; };
  const auto* const from = static_cast<const std::byte*>(tensor.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (size_t i = 0; i < indices.size(); ++i, to += bytes) {
    if (i + kAhead < indices.size()) prefetch_bytes(from + at(indices[i + kAhead]), bytes);
    std::memcpy(to, from + at(indices[i]), bytes);
  }
}

class GatherStage final : public InputStage {
 public:
  GatherStage(const GatherNode& node, const StageContext& context)
      : InputStage(node, context), tensors_(node.tensors) {}

 protected:
  bool do_next(Components& row) override { return do_next_into(row); }
  bool do_next_into(Components& row) override {
    if (!input_->next(indices_)) return false;
    const auto indices = std::as_const(indices_.front()).data<int64_t>();
    check(indices);
    row.resize(tensors_.size());
    keep_own(row);
    for (size_t c = 0; c < row.size(); ++c) gather_rows(tensors_[c], indices, row[c]);
    return true;
  }

 private:
  // A saved position may have indices out of range.
  void check(std::span<const int64_t> indices) const {
    const int64_t rows = tensors_.front().dim(0);
    for (const int64_t i : indices) {
      if (i >= 0 && i < rows) continue;
      throw failed_precondition(
          "from_tensor_slices: row, got {}, expected 0 to {}: the position was saved over other "
          "tensors",
          i, rows - 1);
    }
  }

  const Components& tensors_;
  Components indices_;
};

std::unique_ptr<Stage> GatherNode::make(const StageContext& context) const {
  return std::make_unique<GatherStage>(*this, context);
}

}  // namespace

NodePtr gather_node(NodePtr indices, Spec spec, Components tensors) {
  return std::make_shared<GatherNode>(std::move(indices), std::move(spec), std::move(tensors));
}

}  // namespace systole::data
