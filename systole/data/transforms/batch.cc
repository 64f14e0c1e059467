// batch: copies each element once, into the memory of its batch. The first batch may be the only
// one and not full, so it starts with less memory if a whole batch is large.
#include <algorithm>
#include <cstring>

#include "systole/base/extend_rows.h"
#include "systole/data/nodes.h"
#include "systole/data/recycle.h"

namespace systole::data {
namespace {

// Limit in bytes for the first batch until more elements have come.
constexpr int64_t kFirstBytes = int64_t{64} << 20;

int64_t bytes_of_tensors(const Components& row) {
  int64_t bytes = 0;
  for (const Tensor& tensor : row) bytes += tensor.byte_size();
  return bytes;
}

class BatchNode final : public DatasetNode {
 public:
  BatchNode(const NodePtr& input, int64_t batch_size, bool drop_remainder)
      : DatasetNode("batch", batched(input->spec(), drop_remainder ? batch_size : kUnknown),
                    {input}),
        batch_size(batch_size),
        drop_remainder(drop_remainder) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
  std::string arguments() const override {
    return fmt::format("{}{}", batch_size, drop_remainder ? ", drop_remainder" : "");
  }

  const int64_t batch_size;
  const bool drop_remainder;
};

class BatchStage final : public InputStage {
 public:
  BatchStage(const BatchNode& node, const StageContext& context)
      : InputStage(node, context), node_(node) {}

 protected:
  bool do_next(Components& row) override { return do_next_into(row); }
  bool do_next_into(Components& row) override {
    if (ended_ || !input_->next(part_)) {
      ended_ = true;
      return false;
    }
    begin_batch(row);
    int64_t count = 0;
    do {
      if (count == capacity_) grow();
      add(count++);
      if (count == node_.batch_size) break;
      cancellation_.check();
    } while (!(ended_ = !input_->next(part_)));
    if (count < node_.batch_size && node_.drop_remainder) return false;
    if (count < capacity_) {
      for (Tensor& tensor : batch_) tensor = tensor.slice(0, count);
    }
    had_whole_ = count == node_.batch_size;
    row = std::move(batch_);
    return true;
  }

 private:
  // Allocates a batch of elements like part_, or reuses `row` if it fits.
  void begin_batch(Components& row) {
    row.resize(part_.size());
    keep_own(row);
    batch_.clear();
    types_.clear();
    last_texts_.resize(part_.size());
    capacity_ = node_.batch_size;
    if (!had_whole_ && std::ranges::none_of(row, &Tensor::is_lent)) {
      const int64_t element = std::max<int64_t>(bytes_of_tensors(part_), 1);
      capacity_ = std::clamp<int64_t>(kFirstBytes / element, 1, capacity_);
    }
    for (size_t c = 0; c < part_.size(); ++c) {
      const Shape shape = with_first(capacity_, part_[c].shape());
      make_memory(part_[c].dtype(), shape, last_texts_[c], row[c]);
      batch_.push_back(std::move(row[c]));
      types_.push_back(part_[c].type());
    }
  }
  void grow() {
    capacity_ = std::min(2 * capacity_, node_.batch_size);
    for (Tensor& rows : batch_) rows = extend_rows(rows, capacity_);
  }
  // Swaps strings: the elements of this batch take over the memory of the strings of the last
  // batch.
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
      // Swaps a string that nobody else references instead of copying it.
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
  Components part_;
  Components batch_;
  Components last_texts_;  // the memory of the last batch's texts, one a component
  std::vector<TensorType> types_;
  int64_t capacity_ = 0;  // elements that batch_ has memory for
  bool had_whole_ = false;
  bool ended_ = false;
};

std::unique_ptr<Stage> BatchNode::make(const StageContext& context) const {
  return std::make_unique<BatchStage>(*this, context);
}

}  // namespace

NodePtr batch_node(const NodePtr& input, int64_t batch_size, bool drop_remainder) {
  return std::make_shared<BatchNode>(input, batch_size, drop_remainder);
}

}  // namespace systole::data
