#include "systole/session/program.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <chrono>

#include "systole/session/replica_reductions.h"
#include "systole/tracing/span.h"

namespace systole {
namespace {

template <class T>
using RunSmallVector = absl::InlinedVector<T, 24>;

}  // namespace

std::string ProgramKey::to_string() const {
  std::string text = "fetch [";
  for (const FetchKey& fetch : fetches) {
    if (text.back() != '[') text += ", ";
    text += fetch.node->name();
  }
  text += "]";
  for (const Feed& feed : feeds)
    text += fmt::format(", feed {} = {}", feed.output.name(), feed.type);
  return text;
}

Program::Program(const Graph& graph, ProgramKey key, runtime::Client& client,
                 const runtime::CompileOptions& options, SessionState& state)
    : key_(std::move(key)) {
  const tracing::Span span("compile a program", tracing::Kind::compile);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Output> fed;
  for (const Feed& feed : key_.feeds) fed.push_back(feed.output);
  if (!key_.device_only) host_plan_ = plan_host_ops(key_.fetches, fed);
  if (host_plan_ == nullptr) {
    const std::vector<Output> fetches = outputs_among(key_.fetches);
    const std::vector<Node*> targets = targets_among(key_.fetches);
    num_replicas_ = num_replicas_of(graph, fetches, targets, key_.feeds);
    SpecializedProgram program = [&] {
      const tracing::Span lowering("lower the graph", tracing::Kind::compile);
      return specialize(graph, fetches, targets, key_.feeds, nullptr, num_replicas_);
    }();
    runtime::CompileOptions compile = options;
    if (num_replicas_ > 1) {
      reduce_varying_results(program, graph, fetches, num_replicas_);
      const auto parameters = program.module->entry().num_parameters();
      compile.num_replicas = num_replicas_;
      compile.replicated_parameters.assign(static_cast<size_t>(parameters), true);
    }
    device_.executable = client.compile(*program.module, compile);
    bind(program, state);
  }
  compile_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Program::bind(const SpecializedProgram& program, SessionState& state) {
  std::vector<const Node*> reads;
  for (size_t i = 0; i < program.variables.size(); ++i) {
    if (program.variable_read[i]) reads.push_back(program.variables[i]);
  }
  std::vector<const Node*> updated;
  for (const int variable : program.updated) {
    updated.push_back(program.variables[variable]);
  }
  bind_state(device_, state, reads, updated, program.random_nodes);
  const auto num_fetched = static_cast<int>(outputs_among(key_.fetches).size());
  for (const auto& [parameter, result] : program.module->aliases) {
    device_.reads[parameter].update = result - num_fetched;
  }
  device_.checks = program.checks;
}

bool Program::matches(std::span<const FetchKey> fetches, const FeedValues& feeds) const {
  if (fetches.size() != key_.fetches.size() || feeds.size() != key_.feeds.size()) return false;
  if (feeds.device_only != key_.device_only) return false;
  if (!std::equal(fetches.begin(), fetches.end(), key_.fetches.begin())) return false;
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Feed& feed = key_.feeds[i];
    if (!(feed.output == feeds.keys[i]) || feed.type.dtype != feeds.values[i]->dtype() ||
        feed.type.shape != feeds.values[i]->shape()) {
      return false;
    }
  }
  return true;
}

void Program::run(const FeedValues& feeds, std::span<Tensor> fetched) const {
  RunSmallVector<runtime::Argument> fed;
  for (const Tensor* value : feeds.values) fed.push_back({.host = value});
  RunSmallVector<runtime::Result> wanted;
  for (size_t i = 0; i < key_.fetches.size(); ++i) {
    if (!key_.fetches[i].is_operation()) wanted.push_back({.host = &fetched[i]});
  }
  RunSmallVector<Tensor> flags(device_.checks.size());
  device_.launch({.feeds = fed, .fetched = wanted, .flags = {flags.data(), flags.size()}}).wait();
  device_.advance(1);
}

}  // namespace systole
