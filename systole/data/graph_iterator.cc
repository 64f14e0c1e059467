// Iterators in graphs: ops that hold a data set in their attribute "dataset_factory", and kernels
// that keep its iterator in the session.
#include <atomic>
#include <mutex>

#include "systole/base/mutex.h"
#include "systole/data/dataset.h"
#include "systole/data/graph_function.h"
#include "systole/data/nodes.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/op_def.h"
#include "systole/session/host/host_kernel.h"

namespace systole {
namespace {

// Wraps a data set as a function attribute without arguments.
class DatasetFactory final : public Graph {
 public:
  DatasetFactory(Dataset described, IteratorOptions how)
      : dataset(std::move(described)), options(how) {}
  const Dataset dataset;
  const IteratorOptions options;
};

const DatasetFactory& factory_of(const Node& node) {
  return static_cast<const DatasetFactory&>(*node.attr<FunctionRef>("dataset_factory"));
}

// The state of an iterator in a session. Thread-safe under its mutex.
struct RunningIterator {
  Mutex mutex;
  std::optional<Iterator> iterator SYSTOLE_GUARDED_BY(mutex);
};

std::shared_ptr<RunningIterator> running(KernelContext& c) {
  return c.resources.get<RunningIterator>(fmt::format("iterator/{}", c.attr<int64_t>("id")),
                                          [] { return std::make_shared<RunningIterator>(); });
}

// To whoever runs the graph, OUT_OF_RANGE means the end of the input. An error of that code from
// the pipeline (such as a user's function) would end a training silently, so it gets another code.
bool next_row(Iterator& iterator, Components& row) {
  try {
    return iterator.next_row(row);
  } catch (const Error& error) {
    if (error.code() != Code::out_of_range) throw;
    throw Error(Code::invalid_argument, error.what());
  }
}

std::vector<Tensor> run_get_next(KernelContext& c) {
  const auto state = running(c);
  const MutexLock lock(state->mutex);
  if (!state->iterator) {
    if (c.attr<bool>("initializable")) {
      throw failed_precondition(
          "IteratorGetNext: iterator, got one that has not been initialized, expected its "
          "initializer to be run first");
    }
    state->iterator.emplace(factory_of(c.node).dataset, factory_of(c.node).options);
  }
  Components row;
  if (!next_row(*state->iterator, row)) {
    throw make_error(Code::out_of_range, "IteratorGetNext: End of sequence");
  }
  return row;
}

std::vector<Tensor> run_make_iterator(KernelContext& c) {
  const auto state = running(c);
  const MutexLock lock(state->mutex);
  Iterator made(factory_of(c.node).dataset, factory_of(c.node).options,
                Components(c.inputs.begin(), c.inputs.end()));
  state->iterator = std::move(made);
  return {};
}

// "" for an iterator that was not initialized.
std::vector<Tensor> run_serialize_iterator(KernelContext& c) {
  const auto state = running(c);
  const MutexLock lock(state->mutex);
  if (!state->iterator) {
    if (c.attr<bool>("initializable")) return {Tensor("")};
    state->iterator.emplace(factory_of(c.node).dataset, factory_of(c.node).options);
  }
  return {Tensor(state->iterator->save_state())};
}

std::vector<Tensor> run_deserialize_iterator(KernelContext& c) {
  const auto state = running(c);
  const MutexLock lock(state->mutex);
  const auto bytes = c.input(0).item<std::string>();
  if (bytes.empty()) {
    state->iterator.reset();
    return {};
  }
  const DatasetFactory& factory = factory_of(c.node);
  state->iterator.emplace(Iterator::restored(factory.dataset, factory.options, bytes));
  return {};
}

void register_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_host_kernel("IteratorGetNext", run_get_next);
    register_host_kernel("MakeIterator", run_make_iterator);
    register_host_kernel("SerializeIterator", run_serialize_iterator);
    register_host_kernel("DeserializeIterator", run_deserialize_iterator);
  });
}

AttrMap types_as_attributes(const std::vector<TensorType>& types) {
  std::vector<std::string> names;
  std::vector<int64_t> shapes;
  for (const TensorType& type : types) {
    names.emplace_back(dtype_info(type.dtype).tf_name);
    shapes.push_back(type.shape.rank());
    shapes.insert(shapes.end(), type.shape.begin(), type.shape.end());
  }
  return {{"output_types", names}, {"output_shapes", shapes}};
}

}  // namespace

struct OneShotIterator::State {
  std::shared_ptr<const DatasetFactory> factory;
  int64_t id = 0;
  bool initializable = false;

  AttrMap attributes() const {
    return {
        {"dataset_factory", FunctionRef(factory)}, {"id", id}, {"initializable", initializable}};
  }
};

OneShotIterator::OneShotIterator(const Dataset& dataset, const IteratorOptions& options)
    : OneShotIterator(dataset, options, false) {
  data::check_no_parameters("make_one_shot_iterator", dataset.parameters());
}

OneShotIterator::OneShotIterator(const Dataset& dataset, const IteratorOptions& options,
                                 bool initializable)
    : state_(std::make_shared<State>()) {
  static std::atomic<int64_t> next_id{0};
  static_cast<void>(dataset.node());
  register_kernels();
  state_->factory = std::make_shared<const DatasetFactory>(dataset, options);
  state_->id = next_id++;
  state_->initializable = initializable;
}

Nest<Output> OneShotIterator::get_next(std::string_view name, Input::Where where) const {
  const Dataset& dataset = state_->factory->dataset;
  AttrMap attributes = state_->attributes();
  attributes.merge(types_as_attributes(dataset.node()->types()));
  Node* const node =
      Graph::current().add_node("IteratorGetNext", {}, std::move(attributes), where, name);
  return pack_like(dataset.element_spec(), node->outputs());
}

InitializableIterator::InitializableIterator(const Dataset& dataset, const IteratorOptions& options)
    : iterator_(dataset, options, true) {}

Operation InitializableIterator::initializer(Input::Where where) const {
  return Graph::current().add_node("MakeIterator", iterator_.state_->factory->dataset.parameters(),
                                   iterator_.state_->attributes(), where);
}

Nest<Output> InitializableIterator::get_next(std::string_view name, Input::Where where) const {
  return iterator_.get_next(name, where);
}

Saveable make_saveable_from_iterator(const OneShotIterator& iterator, std::string_view name) {
  Graph& graph = Graph::current();
  Node* const state = graph.add_node("SerializeIterator", {}, iterator.state_->attributes());
  const Output saved = placeholder(DType::string, {}, "iterator_state");
  return {.name = name.empty() ? state->name() : std::string(name),
          .state = state->output(0),
          .saved = saved,
          .restore = graph.add_node("DeserializeIterator", {saved}, iterator.state_->attributes())};
}

Saveable make_saveable_from_iterator(const InitializableIterator& iterator, std::string_view name) {
  return make_saveable_from_iterator(iterator.iterator_, name);
}

OneShotIterator Dataset::make_one_shot_iterator(const IteratorOptions& options) const {
  return {*this, options};
}

InitializableIterator Dataset::make_initializable_iterator(const IteratorOptions& options) const {
  return {*this, options};
}

namespace {

// Returns the output whose value `output` is, without its declared shapes.
Output without_shape(Output output) {
  const auto passed_on = [&] { return output.node()->op().traits.passes_on; };
  while (passed_on() == PassesOn::declared || passed_on() == PassesOn::value) {
    output = output.node()->input(0);
  }
  return output;
}

// Returns the one IteratorGetNext from which `outputs` are computed.
Node* find_get_next(const std::vector<Output>& outputs) {
  Node* found = nullptr;
  std::vector<Node*> stack;
  std::unordered_map<Node*, bool> seen;
  for (const Output& output : outputs) {
    if (!output.valid()) throw invalid_argument("dataset_of: output, got an empty handle");
    stack.push_back(output.node());
  }
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    if (!seen.emplace(node, true).second) continue;
    for (const Output& input : node->inputs()) stack.push_back(input.node());
    if (node->op_name() != "IteratorGetNext" || node == found) continue;
    if (found != nullptr) {
      throw invalid_argument(
          "dataset_of: outputs of two iterators, got {} and {}, expected one data set: join them "
          "with Dataset::zip",
          found->describe(), node->describe());
    }
    found = node;
  }
  if (found == nullptr) {
    throw invalid_argument(
        "dataset_of: output, got {}, expected what get_next() of an iterator gives: the input of "
        "an "
        "estimator comes from a Dataset",
        outputs.empty() ? "none" : outputs.front().node()->describe());
  }
  return found;
}

}  // namespace

Dataset dataset_of(const Nest<Output>& outputs) {
  const std::vector<Output> leaves = outputs.flatten();
  Node* const get_next = find_get_next(leaves);
  const Dataset& dataset = factory_of(*get_next).dataset;
  data::Spec spec = outputs.map([](const Output& output) { return output.type(); });
  std::vector<size_t> components;
  for (const Output& leaf : leaves) {
    const Output source = without_shape(leaf);
    if (source.node() == get_next) components.push_back(static_cast<size_t>(source.index()));
  }
  if (components.size() == leaves.size()) {
    return Dataset(data::select_node(dataset.node(), std::move(spec), std::move(components)));
  }
  // Ops after get_next become a map function.
  Graph& graph = get_next->graph();
  std::shared_ptr<Graph> owner = graph.weak_from_this().lock();
  if (owner == nullptr) owner = std::shared_ptr<Graph>(std::shared_ptr<void>(), &graph);
  auto function = std::make_shared<const data::GraphFunction>(
      "input", HostFunction(std::move(owner), get_next->outputs(), leaves));
  return Dataset(
      data::map_node("map", dataset.node(), std::move(spec), {.graph = std::move(function)}));
}

}  // namespace systole
