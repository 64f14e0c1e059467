// from_tensors, from_tensor_slices and range of tensors of a graph: what those are when an iterator
// is initialised.
#include "systole/data/nodes.h"
#include "systole/graph/math_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/session/captures.h"

namespace systole {
namespace {

using data::NodePtr;
using data::Spec;
using MakeSource = std::function<NodePtr(Row values)>;

// A tensor of a source: a parameter, or where it follows from constants its value.
struct SourceTensor {
  Output output;
  Tensor known;

  std::string to_string() const {
    if (!known.valid()) return output.name();
    if (known.dtype() == DType::s64 && known.rank() == 0)
      return std::to_string(known.item<int64_t>());
    return known.type().to_string();
  }
};

// A source of parameters: one of constants, when it is run.
class ParameterNode final : public data::DatasetNode {
 public:
  ParameterNode(std::string name, Spec spec, std::vector<SourceTensor> tensors, MakeSource make)
      : DatasetNode(std::move(name), std::move(spec)),
        tensors_(std::move(tensors)),
        make_(std::move(make)) {}
  std::unique_ptr<data::Stage> make(const data::StageContext& context) const override;
  std::string arguments() const override {
    std::string text;
    for (const SourceTensor& tensor : tensors_)
      text += (text.empty() ? "" : ", ") + tensor.to_string();
    return text;
  }
  std::vector<Output> parameters() const override {
    std::vector<Output> outputs;
    for (const SourceTensor& tensor : tensors_) {
      if (!tensor.known.valid()) outputs.push_back(tensor.output);
    }
    return outputs;
  }

 private:
  const std::vector<SourceTensor> tensors_;
  const MakeSource make_;
};

class ParameterStage final : public data::Stage {
 public:
  ParameterStage(NodePtr source, data::StageContext context) : source_(std::move(source)) {
    context.lasting = false;  // the source ends with this stage
    stage_ = make_stage(source_, context);
  }

 protected:
  bool do_next(Row& row) override { return stage_->next(row); }
  void do_save(StateWriter& writer) override { stage_->save(writer); }
  void do_restore(StateReader& reader) override { stage_->restore(reader); }

 private:
  const NodePtr source_;
  std::unique_ptr<data::Stage> stage_;
};

std::unique_ptr<data::Stage> ParameterNode::make(const data::StageContext& context) const {
  Row values;
  for (const SourceTensor& tensor : tensors_) {
    const bool known = tensor.known.valid();
    values.push_back(known ? tensor.known : context.root->value_of(tensor.output));
  }
  return std::make_unique<ParameterStage>(make_(std::move(values)), context);
}

// The source of constants where all of `outputs` are such.
Dataset fed_source(std::string name, Spec spec, const std::vector<Output>& outputs,
                   MakeSource make) {
  std::vector<SourceTensor> tensors;
  Row values;
  for (const Output& output : outputs) {
    if (output.dtype() == DType::resource) {
      throw invalid_argument("{}: tensor, got '{}', a resource, expected a value", name,
                             output.name());
    }
    tensors.push_back({output, constant_result(output).value_or(Tensor())});
    if (tensors.back().known.valid()) values.push_back(tensors.back().known);
  }
  if (values.size() == tensors.size()) return Dataset(make(std::move(values)));
  return Dataset(std::make_shared<ParameterNode>(std::move(name), std::move(spec),
                                                 std::move(tensors), std::move(make)));
}

void check_handles(std::string_view op, const Nest<Output>& tensors) {
  tensors.for_each([&](const Output& output) {
    if (!output.valid()) throw invalid_argument("{}: tensor, got none, expected one", op);
  });
}

// An integer of a range as s64.
Output range_number(std::string_view what, const Input& input) {
  const Output number = resolve("range", input);
  const bool integer = number.dtype() == DType::s64 || number.dtype() == DType::s32;
  if (!integer || number.shape().rank() != 0) {
    throw invalid_argument("range: {}, got {}, expected s32[] or s64[]", what, number.type());
  }
  return number.dtype() == DType::s64 ? number : cast(number, DType::s64);
}

}  // namespace

Dataset Dataset::from_tensors(const Nest<Output>& tensors) {
  check_handles("from_tensors", tensors);
  Spec spec = tensors.map([](const Output& output) { return output.type(); });
  return fed_source("from_tensors", spec, tensors.flatten(), [spec](const Row& values) {
    return data::rows_node("from_tensors", spec, std::make_shared<std::vector<Row>>(1, values));
  });
}

Dataset Dataset::from_tensor_slices(const Nest<Output>& tensors) {
  check_handles("from_tensor_slices", tensors);
  if (tensors.empty()) {
    throw invalid_argument("from_tensor_slices: structure, got (), expected at least one tensor");
  }
  Spec spec = tensors.map([](const Output& output) {
    const Shape& shape = output.shape();
    if (shape.rank() == 0) {
      throw invalid_argument(
          "from_tensor_slices: tensor, got {}, expected a first dimension, whose rows are the "
          "elements (from_tensors takes any shape)",
          output.type());
    }
    return TensorType{output.dtype(), Shape(Dims(shape.begin() + 1, shape.end()))};
  });
  return fed_source("from_tensor_slices", spec, tensors.flatten(), [spec](Row values) {
    data::check_slices(values);
    return data::slices_node(spec, std::move(values));
  });
}

Dataset Dataset::range(const Input& stop) { return range(int64_t{0}, stop); }

Dataset Dataset::range(const Input& start, const Input& stop, const Input& step) {
  return fed_source(
      "range", TensorType{DType::s64, {}},
      {range_number("start", start), range_number("stop", stop), range_number("step", step)},
      [](const Row& values) {
        const auto number = [&](size_t i) { return values[i].item<int64_t>(); };
        return range(number(0), number(1), number(2)).node();
      });
}

}  // namespace systole
