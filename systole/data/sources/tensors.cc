// A data set of one element: of from_tensors, or the argument of a function of data sets.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class TensorsStage final : public Stage {
 public:
  explicit TensorsStage(const Components& tensors) : tensors_(tensors) {}

 protected:
  bool do_next(Components& row) override {
    if (given_) return false;
    row = tensors_;
    given_ = true;
    return true;
  }
  void do_save(StateWriter& writer) override { writer.flag(given_); }
  void do_restore(StateReader& reader) override { given_ = reader.flag(); }

 private:
  const Components& tensors_;
  bool given_ = false;
};

class TensorsNode final : public DatasetNode {
 public:
  TensorsNode(Spec spec, Components tensors)
      : DatasetNode("from_tensors", std::move(spec)), tensors_(std::move(tensors)) {}
  std::unique_ptr<Stage> make(const StageContext&) const override {
    return std::make_unique<TensorsStage>(tensors_);
  }

 private:
  const Components tensors_;
};

class ArgumentNode final : public DatasetNode {
 public:
  explicit ArgumentNode(Spec spec) : DatasetNode("argument", std::move(spec)) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override {
    const BoundArgument* bound = context.argument;
    while (bound != nullptr && bound->node != this) bound = bound->outer;
    if (bound == nullptr) {
      throw failed_precondition(
          "Dataset: argument of a function, got an iterator outside of that function, expected its "
          "use inside");
    }
    return std::make_unique<TensorsStage>(*bound->row);
  }
};

}  // namespace

NodePtr tensors_node(Spec spec, Components tensors) {
  return std::make_shared<TensorsNode>(std::move(spec), std::move(tensors));
}

NodePtr argument_node(Spec spec) { return std::make_shared<ArgumentNode>(std::move(spec)); }

}  // namespace systole::data
