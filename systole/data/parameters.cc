// Sources and transformations of graph tensors: their values at the time when an iterator is
// initialized.
#include "systole/base/mutex.h"
#include "systole/data/dataset.h"
#include "systole/data/nodes.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/node_builder.h"
#include "systole/session/host/captures.h"

namespace systole {
namespace {

using data::NodePtr;
using data::Spec;
using MakeNode = std::function<NodePtr(Components values)>;

// An argument that is a tensor: a parameter, or its value if computed from constants.
struct Argument {
  Output output;
  Tensor known;

  std::string to_string() const {
    if (!known.valid()) return output.name();
    if (known.dtype() == DType::s64 && known.rank() == 0)
      return std::to_string(known.item<int64_t>());
    return known.type().to_string();
  }
};

// A node of parameters. An iterator runs the node that `make` returns for their values.
class ParameterNode final : public data::DatasetNode {
 public:
  ParameterNode(std::string name, Spec spec, std::vector<NodePtr> inputs,
                std::vector<Argument> arguments, MakeNode make)
      : DatasetNode(std::move(name), std::move(spec), std::move(inputs)),
        arguments_(std::move(arguments)),
        make_(std::move(make)) {}
  std::unique_ptr<data::Stage> make(const data::StageContext& context) const override;
  void start(data::IteratorRoot& root) const override { static_cast<void>(made(root)); }
  std::string arguments() const override {
    std::string text;
    for (const Argument& argument : arguments_)
      text.append(text.empty() ? "" : ", ").append(argument.to_string());
    return text;
  }
  std::vector<Output> parameters() const override {
    std::vector<Output> outputs;
    for (const Argument& argument : arguments_) {
      if (!argument.known.valid()) outputs.push_back(argument.output);
    }
    return outputs;
  }

 private:
  NodePtr made(data::IteratorRoot& root) const;

  const std::vector<Argument> arguments_;
  const MakeNode make_;
};

// The node that a ParameterNode stands for in one iterator, in all its epochs.
struct MadeNode {
  Mutex mutex;
  NodePtr node SYSTOLE_GUARDED_BY(mutex);  // null until made
};

NodePtr ParameterNode::made(data::IteratorRoot& root) const {
  const auto made = root.shared().get<MadeNode>(*this);
  const MutexLock lock(made->mutex);
  if (made->node == nullptr) {
    Components values;
    for (const Argument& argument : arguments_) {
      const bool known = argument.known.valid();
      values.push_back(known ? argument.known : root.value_of(argument.output));
    }
    made->node = make_(std::move(values));
  }
  return made->node;
}

std::unique_ptr<data::Stage> ParameterNode::make(const data::StageContext& context) const {
  if (!context.lasting) throw data::no_value_of(parameters().front());
  return made(*context.root)->make(context);
}

// Returns the node if all of `outputs` are constants.
Dataset fed_node(std::string name, Spec spec, std::vector<NodePtr> inputs,
                 const std::vector<Output>& outputs, MakeNode make) {
  std::vector<Argument> arguments;
  Components values;
  for (const Output& output : outputs) {
    if (output.dtype() == DType::resource) {
      throw invalid_argument("{}: tensor, got '{}', a resource, expected a value", name,
                             output.name());
    }
    arguments.push_back({output, constant_result(output).value_or(Tensor())});
    if (arguments.back().known.valid()) values.push_back(arguments.back().known);
  }
  if (values.size() == arguments.size()) return Dataset(make(std::move(values)));
  return Dataset(std::make_shared<ParameterNode>(
      std::move(name), std::move(spec), std::move(inputs), std::move(arguments), std::move(make)));
}

void check_handles(std::string_view op, const Nest<Output>& tensors) {
  tensors.for_each([&](const Output& output) {
    if (!output.valid()) throw invalid_argument("{}: tensor, got none, expected one", op);
  });
}

// Returns an integer argument of `op` as s64.
Output integer(std::string_view op, std::string_view what, const Input& input) {
  const Output number = resolve(op, input);
  const bool integer = number.dtype() == DType::s64 || number.dtype() == DType::s32;
  if (!integer || number.shape().rank() != 0) {
    throw invalid_argument("{}: {}, got {}, expected s32[] or s64[]", op, what, number.type());
  }
  return number.dtype() == DType::s64 ? number : cast(number, DType::s64);
}

// Makes a transformation of `input` by one integer; `spec` must fit every value.
Dataset fed_stage(const std::string& op, std::string_view what, const Dataset& input, Spec spec,
                  const Input& argument, std::function<Dataset(const Dataset&, int64_t)> make) {
  return fed_node(op, std::move(spec), {input.node()}, {integer(op, what, argument)},
                  [input, make = std::move(make)](const Components& values) {
                    return make(input, values[0].item<int64_t>()).node();
                  });
}

// Returns `spec` with an unknown first dimension.
Spec any_batch(const Spec& spec) {
  return spec.map([](TensorType type) {
    type.shape.set_dim(0, kUnknown);
    return type;
  });
}

}  // namespace

Dataset Dataset::from_tensors(const Nest<Output>& tensors) {
  check_handles("from_tensors", tensors);
  Spec spec = tensors.map([](const Output& output) { return output.type(); });
  return fed_node("from_tensors", spec, {}, tensors.flatten(), [spec](Components values) {
    return data::tensors_node(spec, std::move(values));
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
    return TensorType{output.dtype(), data::without_first(shape)};
  });
  return fed_node("from_tensor_slices", spec, {}, tensors.flatten(), [spec](Components values) {
    data::check_slices(values);
    return data::slices_node(spec, std::move(values));
  });
}

Dataset Dataset::range(const Input& stop) { return range(int64_t{0}, stop); }

Dataset Dataset::range(const Input& start, const Input& stop, const Input& step) {
  return fed_node("range", TensorType{DType::s64, {}}, {},
                  {integer("range", "start", start), integer("range", "stop", stop),
                   integer("range", "step", step)},
                  [](const Components& values) {
                    const auto number = [&](size_t i) { return values[i].item<int64_t>(); };
                    return range(number(0), number(1), number(2)).node();
                  });
}

Dataset Dataset::list_files(const Output& patterns, const ListFilesOptions& options) {
  check_handles("list_files", patterns);
  if (patterns.dtype() != DType::string || patterns.shape().rank() > 1) {
    throw invalid_argument("list_files: patterns, got {}, expected string[] or string[?]",
                           patterns.type());
  }
  const auto seed =
      options.shuffle ? data::resolve_seed(options.seed) : std::nullopt;  // or the graph's
  return fed_node("list_files", data::text_spec(), {}, {patterns}, [=](const Components& values) {
    const auto texts = values[0].data<std::string>();
    return data::list_files_node({texts.begin(), texts.end()}, options, seed);
  });
}

Dataset Dataset::shard(const Input& num_shards, const Input& index) const {
  return fed_node("shard", element_spec(), {node()},
                  {integer("shard", "num_shards", num_shards), integer("shard", "index", index)},
                  [input = *this](const Components& values) {
                    return input.shard(values[0].item<int64_t>(), values[1].item<int64_t>()).node();
                  });
}

Dataset Dataset::prefetch(const Input& buffer_size) const {
  return fed_stage("prefetch", "buffer_size", *this, element_spec(), buffer_size,
                   [](const Dataset& input, int64_t n) { return input.prefetch(n); });
}

Dataset Dataset::take(const Input& count) const {
  return fed_stage("take", "count", *this, element_spec(), count,
                   [](const Dataset& input, int64_t n) { return input.take(n); });
}

Dataset Dataset::skip(const Input& count) const {
  return fed_stage("skip", "count", *this, element_spec(), count,
                   [](const Dataset& input, int64_t n) { return input.skip(n); });
}

Dataset Dataset::repeat(const Input& count) const {
  return fed_stage("repeat", "count", *this, element_spec(), count,
                   [](const Dataset& input, int64_t n) { return input.repeat(n); });
}

Dataset Dataset::shuffle(const Input& buffer_size, const ShuffleOptions& options) const {
  const auto seed = data::resolve_seed(options.seed);  // or the graph's
  return fed_stage(
      "shuffle", "buffer_size", *this, element_spec(), buffer_size,
      [=](const Dataset& input, int64_t n) {
        data::check_positive("shuffle: buffer_size", n);
        return Dataset(data::shuffle_node(input.node(), n, seed, options.reshuffle_each_iteration));
      });
}

Dataset Dataset::batch(const Input& batch_size, bool drop_remainder) const {
  return fed_stage("batch", "batch_size", *this, data::batched(element_spec(), kUnknown),
                   batch_size,
                   [=](const Dataset& input, int64_t n) { return input.batch(n, drop_remainder); });
}

Dataset Dataset::padded_batch(const Input& batch_size, const PaddedBatchOptions& options) const {
  return fed_stage("padded_batch", "batch_size", *this,
                   any_batch(padded_batch(1, options).element_spec()), batch_size,
                   [=](const Dataset& input, int64_t n) { return input.padded_batch(n, options); });
}

}  // namespace systole
