// from_generator: elements from a C++ callable. The saved state is the number of calls.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class GeneratorNode final : public DatasetNode {
 public:
  GeneratorNode(std::function<Generator()> make, Spec spec)
      : DatasetNode("from_generator", std::move(spec)), make_generator(std::move(make)) {}
  std::unique_ptr<Stage> make(const StageContext&) const override;

  const std::function<Generator()> make_generator;
};

class GeneratorStage final : public Stage {
 public:
  explicit GeneratorStage(const GeneratorNode& node) : node_(node) {}

 protected:
  bool do_next(Components& row) override {
    if (ended_) return false;
    if (!generator_) make_generator();
    const int64_t index = taken_++;
    std::optional<Nest<Tensor>> element = call(index);
    if (!element) {
      ended_ = true;
      return false;
    }
    if (element->structure() != node_.spec().structure()) {
      throw invalid_argument("from_generator: element {}, got {}, expected {}", index,
                             element->to_string(), node_.spec().to_string());
    }
    row = element->flatten();
    check_row("from_generator", row, node_.types(), index);
    return true;
  }
  void do_save(StateWriter& writer) override {
    writer.number(static_cast<uint64_t>(taken_));
    writer.flag(ended_);
  }
  void do_restore(StateReader& reader) override {
    taken_ = static_cast<int64_t>(reader.number());
    ended_ = reader.flag();
    if (ended_ || taken_ == 0) return;
    make_generator();
    for (int64_t i = 0; i < taken_; ++i) skip_one();
  }

 private:
  void make_generator() {
    ended_ = true;  // the generator could not be made: do not retry
    try {
      generator_ = node_.make_generator();
    } catch (...) {
      throw current_error().with_context("from_generator: its function, which makes a generator");
    }
    check_function("from_generator", generator_);
    ended_ = false;
  }
  std::optional<Nest<Tensor>> call(int64_t index) {
    try {
      return generator_();
    } catch (...) {
      throw current_error().with_context(fmt::format("from_generator: element {}", index));
    }
  }
  // Errors from before the saved state were thrown then.
  void skip_one() {
    try {
      generator_();
    } catch (...) {
      return;
    }
  }

  const GeneratorNode& node_;
  Generator generator_;
  int64_t taken_ = 0;
  bool ended_ = false;
};

std::unique_ptr<Stage> GeneratorNode::make(const StageContext&) const {
  return std::make_unique<GeneratorStage>(*this);
}

}  // namespace

NodePtr generator_node(std::function<Generator()> make, Spec spec) {
  return std::make_shared<GeneratorNode>(std::move(make), std::move(spec));
}

}  // namespace systole::data
