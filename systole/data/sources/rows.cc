// from_tensors, and the elements of a window: rows that are there already.
#include "systole/data/nodes.h"

namespace systole::data {
namespace {

class RowsStage final : public Stage {
 public:
  explicit RowsStage(const std::vector<Row>& rows) : rows_(rows) {}

 protected:
  bool do_next(Row& row) override {
    if (next_ >= rows_.size()) return false;
    row = rows_[next_++];
    return true;
  }
  void do_save(StateWriter& writer) override { writer.number(next_); }
  void do_restore(StateReader& reader) override { next_ = reader.number(); }

 private:
  const std::vector<Row>& rows_;
  size_t next_ = 0;
};

class RowsNode final : public DatasetNode {
 public:
  RowsNode(std::string name, Spec spec, std::shared_ptr<const std::vector<Row>> rows)
      : DatasetNode(std::move(name), std::move(spec)), rows_(std::move(rows)) {}
  std::unique_ptr<Stage> make(const StageContext&) const override {
    return std::make_unique<RowsStage>(*rows_);
  }

 private:
  std::shared_ptr<const std::vector<Row>> rows_;
};

}  // namespace

NodePtr rows_node(std::string name, Spec spec, std::shared_ptr<const std::vector<Row>> rows) {
  return std::make_shared<RowsNode>(std::move(name), std::move(spec), std::move(rows));
}

}  // namespace systole::data
