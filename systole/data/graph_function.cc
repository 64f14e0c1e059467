#include "systole/data/graph_function.h"

#include <cstring>

#include "systole/data/nodes.h"
#include "systole/session/kernels/example_parser.h"

namespace systole::data {
namespace {

// Copies element i of a batch to its own memory.
Tensor own_row(Tensor& batch, int64_t i) {
  Tensor row(batch.dtype(), without_first(batch.shape()));
  if (batch.dtype() == DType::string) {
    const auto from = batch.data<std::string>().begin() + i * row.num_elements();
    std::move(from, from + row.num_elements(), row.data<std::string>().begin());
  } else {
    const auto size = static_cast<size_t>(row.byte_size());
    std::memcpy(row.raw(),
                static_cast<const std::byte*>(batch.raw()) + static_cast<size_t>(i) * size, size);
  }
  return row;
}

bool same_types(std::span<const Result> results) {
  const Components& first = results.front().row;
  for (const Result& result : results) {
    if (result.error) return false;
    for (size_t c = 0; c < first.size(); ++c) {
      if (result.row[c].dtype() != first[c].dtype() || result.row[c].shape() != first[c].shape()) {
        return false;
      }
    }
  }
  return true;
}

// Bytes of an element's inputs and results above which calls for single elements are as fast.
constexpr int64_t kLargestElement = 64 << 10;
// The assumed size of a string.
constexpr int64_t kTextBytes = 1 << 10;

bool is_small(const HostFunction& function) {
  int64_t bytes = 0;
  const auto add = [&](const TensorType& type) {
    if (!type.is_static()) {
      bytes = kLargestElement + 1;
      return;
    }
    bytes +=
        type.dtype == DType::string ? type.shape.num_elements() * kTextBytes : type.byte_size();
  };
  function.argument_spec().for_each(add);
  function.result_spec().for_each(add);
  return bytes <= kLargestElement;
}

// Appends the captured values and random state to the arguments.
Components with_captures(Components row, std::span<const Output> captures,
                         const CallContext& calling) {
  for (const Output& output : captures) row.push_back(calling.root->value_of(output));
  return row;
}

// The parser with which a function on batches of records starts, and the rest of the function.
struct ParserFirst {
  ParseBatchArguments parser;
  Spec spec;
  HostFunction rest;
};

// Splits off the parser if `function` uses its argument only to parse it; otherwise returns
// nullopt.
std::optional<ParserFirst> parser_first(const HostFunction& function) {
  if (function.arguments().size() != 1) return std::nullopt;
  const Output argument = function.arguments()[0];
  Node* parser = nullptr;
  for (const auto& node : argument.graph().nodes()) {
    if (std::ranges::find(node->inputs(), argument) == node->inputs().end()) continue;
    if (parser != nullptr || node->op_name() != "ParseExample") return std::nullopt;
    parser = node.get();
  }
  if (parser == nullptr ||
      std::ranges::find(function.results(), argument) != function.results().end()) {
    return std::nullopt;
  }
  ExampleSchema schema(parser->attrs());
  if (!ExampleBatch::takes(schema)) return std::nullopt;
  Components defaults;
  for (const Output& value : parser->inputs().subspan(1)) {
    if (value.node()->op_name() != "Const") return std::nullopt;
    defaults.push_back(value.node()->attr<Tensor>("value"));
  }
  std::vector<Output> parsed;
  std::vector<Spec> types;
  for (int i = 0; i < parser->num_outputs(); ++i) {
    parsed.push_back(parser->output(i));
    types.emplace_back(parser->output(i).type());
  }
  // The function owns the graph.
  const std::shared_ptr<Graph> graph(std::make_shared<HostFunction>(function), &argument.graph());
  auto parse =
      std::make_shared<const GraphFunction>("parse_batch", HostFunction(graph, {argument}, parsed));
  const auto results = function.results();
  return ParserFirst{.parser = {.schema = std::move(schema),
                                .defaults = std::move(defaults),
                                .parser = parser->describe(),
                                .graph = std::move(parse)},
                     .spec = Spec::tuple(std::move(types)),
                     .rest = HostFunction(graph, std::move(parsed),
                                          std::vector<Output>(results.begin(), results.end()))};
}

// Makes a parse_batch node of `function`, a vectorized function, on batches of `texts`. Returns
// null if it does not start with the parser.
NodePtr parsed_batches(const NodePtr& texts, const HostFunction& function, Spec spec,
                       int64_t batch_size, bool drop_remainder) {
  std::optional<ParserFirst> first = parser_first(function);
  if (!first) return nullptr;
  first->parser.batch_size = batch_size;
  first->parser.drop_remainder = drop_remainder;
  NodePtr parsed = parse_batch_node(texts, std::move(first->spec), std::move(first->parser));
  auto rest = std::make_shared<const GraphFunction>("map", std::move(first->rest), batch_size);
  return map_node("map_batches", std::move(parsed), std::move(spec), {.graph = std::move(rest)});
}

}  // namespace

std::optional<HostFunction> GraphFunction::batched() const {
  const bool no_element = function_.arguments().size() == function_.captures().size();
  if (function_.is_random() || no_element) return std::nullopt;
  return function_.vectorized();
}

bool GraphFunction::worth_chunks() const { return is_small(function_) && batched(); }

Components GraphFunction::call(const Components& row, int64_t index,
                               const CallContext& calling) const {
  Components results;
  call_into(row, index, calling, results);
  return results;
}

void GraphFunction::call_into(const Components& row, int64_t index, const CallContext& calling,
                              Components& results) const {
  try {
    results.resize(function_.results().size());
    const RandomDraw draw{.number = calling.epoch + static_cast<uint64_t>(index),
                          .entropy = calling.entropy};
    if (function_.captures().empty()) {
      function_.run_into(row, draw, results);
    } else {
      function_.run_into(with_captures(row, function_.captures(), calling), draw, results);
    }
  } catch (...) {
    if (batch_size_ > 0) throw_of_row(row, index, calling);
    throw current_error().with_context(fmt::format("{}: element {}", what_, index));
  }
}

// Throws the error of the first element of a failed batch that fails by itself.
void GraphFunction::throw_of_row(const Components& batch, int64_t index,
                                 const CallContext& calling) const {
  const Error of_batch = current_error();
  const int64_t first = index * batch_size_;
  const int64_t size = batch.empty() ? 0 : batch.front().dim(0);
  for (int64_t i = 0; i < size; ++i) {
    Components row;
    for (const Tensor& part : batch) row.push_back(part.slice(i, i + 1));
    try {
      function_(with_captures(std::move(row), function_.captures(), calling));
    } catch (...) {
      throw current_error().with_context(fmt::format("{}: element {}", what_, first + i));
    }
  }
  throw Error(of_batch).with_context(
      fmt::format("{}: elements {} to {}", what_, first, first + size - 1));
}

bool GraphFunction::call_batched(std::span<Result> results, const CallContext& calling) const {
  if (results.size() < 2 || !worth_chunks() || !same_types(results)) return false;
  std::vector<Components> rows;
  for (const Result& result : results) rows.push_back(result.row);
  try {
    std::vector<Tensor> batches =
        (*batched())(with_captures(stack_rows(what_, rows), function_.captures(), calling));
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].row.clear();
      for (Tensor& batch : batches) {
        results[i].row.push_back(own_row(batch, static_cast<int64_t>(i)));
      }
    }
    return true;
  } catch (...) {
    return false;  // one by one, so that the error names its element
  }
}

size_t GraphFunction::call_all(std::span<Result> results, int64_t index, const CallContext& calling,
                               ChunkClock::time_point until) const {
  if (call_batched(results, calling)) return results.size();
  return apply_each(results, index, *calling.root, until,
                    [&](const Components& row, int64_t i) { return call(row, i, calling); });
}

NodePtr batches_of(const NodePtr& input, int64_t batch_size, bool drop_remainder) {
  std::vector<const DatasetNode*> passed;
  const DatasetNode* node = input.get();
  while (node->map_arguments() == nullptr && node->sliced_tensors() == nullptr) {
    if (node->inputs().size() != 1 || node->with_input(node->input()) == nullptr) {
      return batch_node(input, batch_size, drop_remainder);
    }
    passed.push_back(node);
    node = node->input().get();
  }
  const auto chosen_from = [&](NodePtr source) {
    for (; !passed.empty(); passed.pop_back()) source = passed.back()->with_input(source);
    return source;
  };
  Spec spec = batched(node->spec(), drop_remainder ? batch_size : kUnknown);
  if (const Components* const tensors = node->sliced_tensors()) {
    NodePtr indices = chosen_from(range_node(0, tensors->front().dim(0), 1));
    return gather_node(batch_node(indices, batch_size, drop_remainder), std::move(spec), *tensors);
  }
  const MapArguments& map = *node->map_arguments();
  std::optional<HostFunction> function = map.graph ? map.graph->batched() : std::nullopt;
  if (!function) return batch_node(input, batch_size, drop_remainder);
  const NodePtr chosen = chosen_from(node->input());
  NodePtr batches = batches_of(chosen, batch_size, drop_remainder);
  if (map.num_parallel_calls == 0 && batches->name() == "batch") {
    NodePtr parsed = parsed_batches(chosen, *function, spec, batch_size, drop_remainder);
    if (parsed != nullptr) return parsed;
  }
  auto graph = std::make_shared<const GraphFunction>("map", std::move(*function), batch_size);
  return map_node("map_batches", std::move(batches), std::move(spec),
                  {.graph = std::move(graph),
                   .num_parallel_calls = map.num_parallel_calls,
                   .deterministic = map.deterministic});
}

}  // namespace systole::data
