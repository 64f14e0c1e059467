// batch: each element is copied once, into the memory of its batch.
#include <algorithm>
#include <cstring>

#include "systole/data/nodes.h"
#include "systole/data/recycle.h"

namespace systole::data {
namespace {

class BatchNode final : public DatasetNode {
 public:
  BatchNode(NodePtr input, int64_t batch_size, bool drop_remainder)
      : DatasetNode("batch", batched(input->spec(), drop_remainder ? batch_size : kUnknown),
                    {input}),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override {
    return fmt::format("{}{}", batch_size_, drop_remainder_ ? ", drop_remainder" : "");
  }

  const int64_t batch_size_;
  const bool drop_remainder_;
};

class BatchStage final : public InputStage {
 public:
  BatchStage(const BatchNode& node, const StageContext& context)
      : InputStage(node, context), node_(node), cancellation_(context.cancellation()) {}

 protected:
  bool do_next(Row& row) override { return do_next_into(row); }
  bool do_next_into(Row& row) override {
    if (ended_ || !input_->next(part_)) {
      ended_ = true;
      return false;
    }
    begin_batch(row);
    int64_t count = 0;
    do {
      add(count++);
      if (count == node_.batch_size_) break;
      cancellation_.check();
    } while (!(ended_ = !input_->next(part_)));
    if (count < node_.batch_size_) {
      if (node_.drop_remainder_) return false;
      for (Tensor& tensor : batch_) tensor = tensor.slice(0, count);
    }
    row = std::move(batch_);
    return true;
  }

 private:
  // Memory for a batch of elements like part_: that of `row` where it fits.
  void begin_batch(Row& row) {
    row.resize(part_.size());
    keep_own(row);
    batch_.clear();
    types_.clear();
    last_texts_.resize(part_.size());
    for (size_t c = 0; c < part_.size(); ++c) {
      Dims dims{node_.batch_size_};
      dims.insert(dims.end(), part_[c].shape().begin(), part_[c].shape().end());
      make_memory(part_[c].dtype(), Shape(std::move(dims)), last_texts_[c], row[c]);
      batch_.push_back(std::move(row[c]));
      types_.push_back(part_[c].type());
    }
  }
  // Texts go round: those of the last batch, when it is done with, are what the elements of this
  // one leave their memory for.
  static void make_memory(DType dtype, const Shape& shape, Tensor& last, Tensor& memory) {
    if (dtype != DType::string) return make_room(memory, dtype, shape);
    memory = Tensor();
    if (last.dtype() != dtype || last.shape() != shape || !sole_owner(last)) {
      last = Tensor(dtype, shape);
    }
    memory = last;
  }
  void add(int64_t i) {
    for (size_t c = 0; c < part_.size(); ++c) {
      if (part_[c].dtype() != types_[c].dtype || part_[c].shape() != types_[c].shape) {
        throw ragged(c, i);
      }
      copy_part(part_[c], i, batch_[c]);
    }
  }
  static void copy_part(Tensor& part, int64_t i, Tensor& batch) {
    const int64_t count = part.num_elements();
    if (part.dtype() == DType::string) {
      const auto from = part.data<std::string>();
      const auto to = batch.data<std::string>().begin() + i * count;
      // A text that nobody else has is not copied.
      if (sole_owner(part)) {
        std::swap_ranges(from.begin(), from.end(), to);
      } else {
        std::ranges::copy(from, to);
      }
      return;
    }
    const auto size = static_cast<size_t>(part.byte_size());
    std::memcpy(static_cast<std::byte*>(batch.raw()) + static_cast<size_t>(i) * size, part.raw(),
                size);
  }
  Error ragged(size_t component, int64_t i) {
    return invalid_argument(
        "batch: component {} of element {} of the batch, got {}, expected {} as in element 0; "
        "elements of different shapes take padded_batch",
        component, i, part_[component].type(), types_[component]);
  }

  const BatchNode& node_;
  const Cancellation& cancellation_;
  Row part_;
  Row batch_;
  Row last_texts_;  // the memory of the last batch's texts, one a component
  std::vector<TensorType> types_;
  bool ended_ = false;
};

std::unique_ptr<Stage> BatchNode::make(const StageContext& context) const {
  return std::make_unique<BatchStage>(*this, context);
}

}  // namespace

NodePtr batch_node(NodePtr input, int64_t batch_size, bool drop_remainder) {
  return std::make_shared<BatchNode>(std::move(input), batch_size, drop_remainder);
}

}  // namespace systole::data
