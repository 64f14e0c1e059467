#include "systole/estimator/check_run.h"

#include <algorithm>
#include <unordered_set>

#include "systole/base/counted.h"
#include "systole/estimator/check/check.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/plan.h"
#include "systole/session/host/host_plan.h"
#include "systole/session/replica_reductions.h"

namespace systole {
namespace {

using OutputSet = std::unordered_set<Output>;

OutputSet outputs_of(std::span<const Feed> feeds) {
  OutputSet fed;
  for (const Feed& feed : feeds) fed.insert(feed.output);
  return fed;
}

std::vector<Feed> feeds_in(const Graph& graph, std::span<const FeedShape> shapes) {
  std::vector<Feed> feeds;
  for (const FeedShape& feed : shapes) {
    const Output key = feed.key.valid() ? feed.key : graph.tensor(feed.name);
    if (!feed.shape.is_static() || !feed.shape.compatible_with(key.shape())) {
      throw invalid_argument("check_run: shape of the feed '{}', got {}, expected one of {}",
                             key.name(), feed.shape, key.shape());
    }
    feeds.push_back({.output = key, .type = {key.dtype(), feed.shape}});
  }
  return feeds;
}

// Appends the placeholders that the run needs, with the shapes that they have.
void add_placeholders(std::span<const FetchKey> keys, std::vector<Feed>& feeds) {
  const OutputSet fed = outputs_of(feeds);
  std::unordered_set<Node*> seen;
  std::vector<Node*> open;
  const auto need = [&](Node* node) {
    if (seen.insert(node).second) open.push_back(node);
  };
  for (const FetchKey& key : keys) need(key.node);
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    for (const Output& input : node->inputs()) {
      if (!fed.contains(input)) need(input.node());
    }
    for (Node* control : node->control_inputs()) need(control);
  }
  std::vector<Node*> found;
  for (Node* node : seen) {
    if (node->op_name() == "Placeholder" && !fed.contains(node->output())) found.push_back(node);
  }
  std::ranges::sort(found, {}, &Node::id);
  for (Node* node : found)
    feeds.push_back({.output = node->output(), .type = node->output().type()});
}

// The part of a run that one device program computes.
struct DevicePart {
  std::vector<Feed> feeds;
  std::vector<Output> fetches;
  std::vector<Node*> targets;

  Plan plan(const Graph& graph) const {
    return plan_run(graph, fetches, targets, outputs_of(feeds));
  }
};

DevicePart part_of(const HostPlan::Step& step, std::span<const Feed> feeds) {
  DevicePart part{.fetches = step.fetched, .targets = step.targets};
  for (const Output& output : step.fed) {
    const auto given = std::ranges::find(feeds, output, &Feed::output);
    part.feeds.push_back(given != feeds.end() ? *given
                                              : Feed{.output = output, .type = output.type()});
  }
  return part;
}

// Returns the largest of the programs between the host steps of a run.
DevicePart largest_part(const Graph& graph, const HostPlan& plan, std::span<const Feed> feeds,
                        std::vector<Violation>& found) {
  const Node* first = nullptr;
  int on_host = 0;
  int programs = 0;
  size_t most = 0;
  DevicePart largest;
  for (const HostPlan::Step& step : plan.steps) {
    if (step.node != nullptr) {
      if (on_host++ == 0) first = step.node;
      continue;
    }
    ++programs;
    DevicePart part = part_of(step, feeds);
    const size_t size = part.plan(graph).order.size();
    if (size <= most) continue;
    most = size;
    largest = std::move(part);
  }
  if (on_host > 0) {
    found.push_back(
        {.what = fmt::format("{} on the host, the first is {} ({})", counted(on_host, "step"),
                             first->describe(), first->op_name()),
         .fix = "a TPU waits for what it is fed: prepare it ahead (Dataset.prefetch)",
         .note = true});
  }
  if (programs > 1) {
    found.push_back({.what = fmt::format("{} with host steps between; the largest is checked",
                                         counted(programs, "program")),
                     .fix = "a TPU waits between them: move the host steps before the first",
                     .note = true});
  }
  if (programs == 0)
    found.push_back({.what = "all of the run is on the host", .fix = "fetch what a TPU computes"});
  return largest;
}

// Feeds the inputs of replicated computations with the types that one of `replicas` cores gets.
void feed_replicated_inputs(const Graph& graph, const Plan& plan, int replicas, DevicePart& part) {
  std::vector<Output> inputs;
  for (Node* node : plan.order) {
    if (node->op_name() == "TPUReplicatedInput") inputs.push_back(node->output());
  }
  std::vector<TensorType> types;
  if (std::ranges::all_of(part.feeds, [](const Feed& feed) { return feed.type.is_static(); })) {
    const auto program = specialize(graph, inputs, {}, part.feeds, nullptr, replicas);
    for (size_t i = 0; i < inputs.size(); ++i)
      types.push_back(program.module->entry().results()[i].type());
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    part.feeds.push_back(
        {.output = inputs[i], .type = types.empty() ? inputs[i].type() : types[i]});
}

// Fetches the outputs of replicated computations in place of what is computed of them outside.
void fetch_replicated_outputs(const Plan& plan, DevicePart& part) {
  std::unordered_set<const Node*> after;
  std::vector<Output> outputs;
  for (Node* node : plan.order) {
    const bool is_output = node->op_name() == "TPUReplicatedOutput";
    const auto follows = [&](const Node* other) { return after.contains(other); };
    const bool is_after = std::ranges::any_of(node->inputs(), follows, &Output::node) ||
                          std::ranges::any_of(node->control_inputs(), follows);
    if (is_output || is_after) after.insert(node);
    if (is_output && !is_after) outputs.push_back(node->input(0));
  }
  std::erase_if(part.fetches, [&](const Output& fetch) { return after.contains(fetch.node()); });
  std::erase_if(part.targets, [&](const Node* target) { return after.contains(target); });
  part.fetches.insert(part.fetches.end(), outputs.begin(), outputs.end());
}

// Leaves what one core runs of replicated computations. Returns the number of replicas.
int cut_at_replicas(const Graph& graph, DevicePart& part) {
  const Plan plan = part.plan(graph);
  const bool replicated = std::ranges::any_of(
      plan.order, [](const Node* node) { return node->op_name() == "TPUReplicateMetadata"; });
  if (!replicated) return 1;
  const int replicas = num_replicas_of(graph, part.fetches, part.targets, part.feeds);
  fetch_replicated_outputs(plan, part);
  feed_replicated_inputs(graph, plan, replicas, part);
  return replicas;
}

bool trains(const Graph& graph, std::span<const Node* const> nodes) {
  std::unordered_set<const Node*> trained;
  for (const Variable& variable : graph.collection<Variable>(graph_keys::trainable_variables))
    trained.insert(variable.handle().node());
  return std::ranges::any_of(nodes, [&](const Node* node) {
    return has_effect(*node) && std::ranges::any_of(node->inputs(), [&](const Output& input) {
             return trained.contains(input.node());
           });
  });
}

estimator::CheckedStep checked_step(const Graph& graph, const DevicePart& part, int replicas) {
  const Plan plan = part.plan(graph);
  estimator::CheckedStep step{
      .graph = &graph,
      .nodes = {plan.order.begin(), plan.order.end()},
      .fetches = part.fetches,
      .targets = part.targets,
      .replicas = replicas,
      .trains = trains(graph, {plan.order.begin(), plan.order.end()}),
      .advice = {.shape = "give check_run its shape, {{x, {1024, 784}}}",
                 .text = "parse and decode on the host, outside of the program",
                 .where = " before it is fed"}};
  for (const Feed& feed : part.feeds) {
    if (plan.needed.contains(feed.output)) step.inputs.push_back(feed);
  }
  return step;
}

}  // namespace

CheckReport check_run(const std::vector<Fetch>& fetches, const std::vector<FeedShape>& feeds,
                      const TPUCheckOptions& options, const Graph& graph) {
  std::vector<FetchKey> keys;
  for (const Fetch& fetch : fetches) keys.push_back(fetch.in(graph));
  DevicePart part{.feeds = feeds_in(graph, feeds),
                  .fetches = outputs_among(keys),
                  .targets = targets_among(keys)};
  add_placeholders(keys, part.feeds);
  std::vector<Output> fed;
  for (const Feed& feed : part.feeds) fed.push_back(feed.output);
  std::vector<Violation> found;
  if (const auto host = plan_host_ops(keys, fed))
    part = largest_part(graph, *host, part.feeds, found);
  const int replicas = cut_at_replicas(graph, part);
  CheckReport report = estimator::check_step(checked_step(graph, part, replicas),
                                             {.replicas = replicas, .reference_replicas = 1});
  report.violations.insert(report.violations.begin(), found.begin(), found.end());
  estimator::ask_compiler(options, report);
  return report;
}

}  // namespace systole
