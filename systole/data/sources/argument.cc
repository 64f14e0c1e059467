// The element that a function of data sets is given, as a data set.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class ArgumentNode final : public DatasetNode {
 public:
  explicit ArgumentNode(Spec spec) : DatasetNode("argument", std::move(spec)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
};

class ArgumentStage final : public Stage {
 public:
  explicit ArgumentStage(const Row& argument) : argument_(argument) {}

 protected:
  bool do_next(Row& row) override {
    if (given_) return false;
    row = argument_;
    given_ = true;
    return true;
  }
  void do_save(StateWriter& writer) override { writer.flag(given_); }
  void do_restore(StateReader& reader) override { given_ = reader.flag(); }

 private:
  const Row& argument_;
  bool given_ = false;
};

std::unique_ptr<Stage> ArgumentNode::make(const StageContext& context) const {
  const BoundArgument* bound = context.argument;
  while (bound != nullptr && bound->node != this) bound = bound->outer;
  if (bound == nullptr) {
    throw failed_precondition(
        "Dataset: argument of a function, got an iterator outside of that function, expected its "
        "use inside");
  }
  return std::make_unique<ArgumentStage>(*bound->row);
}

}  // namespace

NodePtr argument_node(Spec spec) { return std::make_shared<ArgumentNode>(std::move(spec)); }

}  // namespace systole::data
