// ignore_errors: drops elements that fail, and logs it.
#include "systole/base/counted.h"
#include "systole/base/log.h"
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

// Limit of consecutive errors: an input that only fails would never end.
constexpr int64_t kMaxInARow = 10'000'000;

class IgnoreErrorsNode final : public DatasetNode {
 public:
  explicit IgnoreErrorsNode(const NodePtr& input)
      : DatasetNode("ignore_errors", input->spec(), {input}) {}
  std::unique_ptr<Stage> make(const StageContext& context) const override;
};

class IgnoreErrorsStage final : public InputStage {
 public:
  using InputStage::InputStage;
  ~IgnoreErrorsStage() override { report(); }

 protected:
  bool do_next(Components& row) override {
    for (int64_t in_a_row = 0;; ++in_a_row) {
      try {
        if (input_->next(row)) return true;
        report();
        return false;
      } catch (const Error& error) {
        if (error.code() == Code::cancelled || in_a_row == kMaxInARow) throw;
        note(error);
      }
      cancellation_.check();
    }
  }
  void do_save(StateWriter& writer) override {
    writer.number(static_cast<uint64_t>(dropped_));
    writer.bytes(first_);
    input_->save(writer);
  }
  void do_restore(StateReader& reader) override {
    dropped_ = told_ = static_cast<int64_t>(reader.number());
    while (next_told_ <= dropped_) next_told_ *= 10;
    first_ = reader.bytes();
    input_->restore(reader);
  }

 private:
  // Logs the first error, and again after ten times as many: the input may be infinite.
  void note(const Error& error) {
    if (dropped_ == 0) {
      first_ = error.what();
      next_told_ = 1;
    }
    if (++dropped_ < next_told_) return;
    tell();
    next_told_ *= 10;
  }
  void tell() {
    log_warning("ignore_errors: dropped {}, the first for {}",
                systole::counted(dropped_, "element"), first_);
    told_ = dropped_;
  }
  void report() {
    if (dropped_ > told_) tell();
    dropped_ = told_ = 0;
  }

  int64_t dropped_ = 0;
  int64_t told_ = 0;  // of these in the log
  int64_t next_told_ = 1;
  std::string first_;
};

std::unique_ptr<Stage> IgnoreErrorsNode::make(const StageContext& context) const {
  return std::make_unique<IgnoreErrorsStage>(*this, context);
}

}  // namespace

NodePtr ignore_errors_node(const NodePtr& input) {
  return std::make_shared<IgnoreErrorsNode>(input);
}

}  // namespace systole::data
