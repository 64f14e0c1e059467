#include "systole/data/nodes.h"
#include "systole/data/recycle.h"

namespace systole::data {
namespace {

class RangeNode final : public DatasetNode {
 public:
  RangeNode(int64_t start, int64_t stop, int64_t step)
      : DatasetNode("range", TensorType{DType::s64, {}}), start(start), stop(stop), step(step) {}
  std::unique_ptr<Stage> make(const StageContext&) const override;
  std::string arguments() const override { return fmt::format("{}, {}, {}", start, stop, step); }

  const int64_t start;
  const int64_t stop;
  const int64_t step;
};

class RangeStage final : public Stage {
 public:
  explicit RangeStage(const RangeNode& node) : node_(node), next_(node.start) {}

 protected:
  bool do_next(Components& row) override {
    if (node_.step > 0 ? next_ >= node_.stop : next_ <= node_.stop) return false;
    assign_number(row, next_);
    if (__builtin_add_overflow(next_, node_.step, &next_)) next_ = node_.stop;
    return true;
  }
  void do_save(StateWriter& writer) override { writer.number(static_cast<uint64_t>(next_)); }
  void do_restore(StateReader& reader) override { next_ = static_cast<int64_t>(reader.number()); }

 private:
  const RangeNode& node_;
  int64_t next_;
};

std::unique_ptr<Stage> RangeNode::make(const StageContext&) const {
  return std::make_unique<RangeStage>(*this);
}

}  // namespace

NodePtr range_node(int64_t start, int64_t stop, int64_t step) {
  return std::make_shared<RangeNode>(start, stop, step);
}

}  // namespace systole::data
