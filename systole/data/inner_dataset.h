// A data set that a function made of an element, running inside a stage.
#pragma once

#include "systole/data/nodes.h"

namespace systole::data {

class InnerDataset {
 public:
  // Makes the data set of `source`, the `index`-th element. Errors: those of the function, with the
  // index; INVALID_ARGUMENT if the data set does not produce `types`. REQUIRES: `maker` and `types`
  // outlive it.
  InnerDataset(std::string_view what, const DatasetMaker& maker, Components source, uint64_t index,
               const StageContext& context, const std::vector<TensorType>& types)
      : what_(what),
        source_(std::move(source)),
        index_(index),
        types_(types),
        argument_{maker.argument.get(), &source_, context.argument},
        node_(maker.body) {
    if (maker.fn) node_ = called(maker);
    if (node_->types().size() != types_.size()) {
      throw invalid_argument("{}: data set of element {}, got {}, expected {} components", what_,
                             index_, node_->spec().to_string(), types_.size());
    }
    StageContext inside = context.in_function(index, !maker.fn);
    if (!maker.fn) inside.argument = &argument_;
    inside.shared = &shared_;
    stage_ = make_stage(node_, inside);
  }
  InnerDataset(const InnerDataset&) = delete;
  InnerDataset& operator=(const InnerDataset&) = delete;

  bool next(Components& row) {
    if (!stage_->next(row)) return false;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!fits(row[i], types_[i])) {
        throw invalid_argument("{}: data set of element {}, got {}, expected {}", what_, index_,
                               row[i].type(), types_[i]);
      }
    }
    return true;
  }

  void save(StateWriter& writer) {
    writer.row(source_);
    writer.number(index_);
    stage_->save(writer);
    each_node(*node_, [&](const DatasetNode& node) { node.save_left(shared_, writer); });
  }
  static std::unique_ptr<InnerDataset> restored(StateReader& reader, std::string_view what,
                                                const DatasetMaker& maker,
                                                const StageContext& context,
                                                const std::vector<TensorType>& types) {
    Components source = reader.row();
    const uint64_t index = reader.number();
    auto result =
        std::make_unique<InnerDataset>(what, maker, std::move(source), index, context, types);
    result->stage_->restore(reader);
    each_node(*result->node_,
              [&](const DatasetNode& node) { node.restore_left(result->shared_, reader); });
    return result;
  }

 private:
  NodePtr called(const DatasetMaker& maker) const {
    try {
      return maker.fn(source_);
    } catch (...) {
      throw current_error().with_context(fmt::format("{}: element {}", what_, index_));
    }
  }

  std::string_view what_;
  Components source_;
  uint64_t index_;
  const std::vector<TensorType>& types_;
  const BoundArgument argument_;
  NodePtr node_;  // keeps the nodes that stage_ runs
  SharedObjects shared_;
  std::unique_ptr<Stage> stage_;
};

}  // namespace systole::data
