// Runs every op in every dtype that its inference accepts, on the CPU backend and the reference.
// The op tables show each op in some dtypes only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/testing/all_cases.h"
#include "tests/conformance/backend_executor.h"

namespace systole::conformance {
namespace {

using graph_testing::CaseGraph;
using graph_testing::FeedList;
using graph_testing::MiniSession;

// One node of a row's graph, and the values of its inputs.
struct Sample {
  std::shared_ptr<Graph> graph;
  const Node* node;
  std::vector<Tensor> inputs;
};

// A node that is a function of the elements of its inputs alone.
bool can_stand_alone(const Node& node) {
  if (node.op().lower == nullptr || node.op().traits.stateful || node.num_inputs() == 0)
    return false;
  for (const auto& [name, value] : node.attrs()) {
    if (std::holds_alternative<FunctionRef>(value)) return false;
  }
  return true;
}

// Prefers floating data to integers, which may be indices, and any data to an empty tensor.
int quality(const Node& node) {
  int result = 0;
  for (const Output& input : node.inputs()) {
    if (is_floating(input.dtype())) result += 1;
    if (input.shape().is_static() && input.shape().num_elements() == 0) return -1;
  }
  return result;
}

std::map<std::string_view, Sample> samples() {
  std::map<std::string_view, std::pair<CaseGraph, const Node*>> best;
  for (const auto& row : graph_testing::all_op_cases()) {
    if (!row.error.empty()) continue;
    const CaseGraph built = graph_of(row);
    for (const auto& node : built.graph->nodes()) {
      if (!can_stand_alone(*node)) continue;
      auto& entry = best[node->op_name()];
      if (entry.second == nullptr || quality(*node) > quality(*entry.second)) {
        entry = {built, node.get()};
      }
    }
  }
  std::map<std::string_view, Sample> result;
  for (const auto& [op, entry] : best) {
    const auto& [built, node] = entry;
    const std::vector<Output> inputs(node->inputs().begin(), node->inputs().end());
    result[op] = {built.graph, node, graph_testing::evaluate(inputs, built.feeds)};
  }
  return result;
}

// The same elements if `to` can represent them; fractions become small positive integers, which may
// be divisors.
Tensor converted(const Tensor& x, DType to) {
  if (!is_floating(x.dtype()) || !is_integer(to)) return x.cast(to);
  Tensor result(DType::f64, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double value = std::abs(x.as_double(i));
    result.data<double>()[i] = 1 + std::floor(std::fmin(2 * value, 5));
  }
  return result.cast(to);
}

// Whether a value is a constant, or computed from shapes.
bool known_when_compiled(const Output& input) {
  return constant_value(input).has_value() ||
         (is_integer(input.dtype()) && input.node()->op_name() != "Placeholder");
}

// Adds the sample's node with `from` replaced by `to` among its inputs and attributes. Null if its
// inference refuses the dtype.
Node* add_in_dtype(const Sample& sample, DType from, DType to, FeedList& feeds) {
  std::vector<Output> inputs;
  FeedList fed;
  for (int i = 0; i < sample.node->num_inputs(); ++i) {
    const Tensor& value = sample.inputs[i];
    const Tensor x = value.dtype() == from ? converted(value, to) : value;
    if (known_when_compiled(sample.node->input(i))) {
      inputs.push_back(constant(x));
    } else {
      inputs.push_back(placeholder(x.dtype(), x.shape()));
      fed.emplace_back(inputs.back(), x);
    }
  }
  AttrMap attrs = sample.node->attrs();
  for (auto& [name, value] : attrs) {
    if (const auto* dtype = std::get_if<DType>(&value); dtype != nullptr && *dtype == from) {
      value = to;
    }
  }
  try {
    Node* const node = Graph::current().add_node(sample.node->op_name(), inputs, attrs);
    feeds.insert(feeds.end(), fed.begin(), fed.end());
    return node;
  } catch (const Error& error) {
    if (error.code() != Code::invalid_argument) throw;
    return nullptr;
  }
}

// Returns the number of dtypes that the op accepted in place of `from`. All run as one program.
int check_dtypes(const Sample& sample, DType from, const graph_testing::Executor& executor) {
  const auto graph = std::make_shared<Graph>();
  const GraphScope scope(*graph);
  FeedList feeds;
  std::vector<Output> fetches;
  int taken = 0;
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto to = static_cast<DType>(i);
    if (!is_graph_dtype(to)) continue;
    Node* const node = add_in_dtype(sample, from, to, feeds);
    if (node == nullptr) continue;
    std::ranges::copy(node->outputs(), std::back_inserter(fetches));
    ++taken;
  }
  try {
    MiniSession(0, executor).run(fetches, feeds);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  return taken;
}

TEST(CpuOpDtypes, AllThatInferenceTakes) {
  const graph_testing::Executor cpu = backend_executor("cpu");
  const auto all = samples();
  EXPECT_GT(all.size(), 100U);
  for (const auto& [op, sample] : all) {
    SCOPED_TRACE(op);
    std::set<DType> dtypes;
    for (const Tensor& input : sample.inputs) dtypes.insert(input.dtype());
    for (const DType from : dtypes) {
      SCOPED_TRACE(fmt::format("in place of {}", from));
      EXPECT_GE(check_dtypes(sample, from, cpu), 1);
    }
  }
}

}  // namespace
}  // namespace systole::conformance
