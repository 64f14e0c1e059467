#include "systole/session/program.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <chrono>

#include "systole/session/uniform_values.h"

namespace systole {
namespace {

template <class T>
using ProgramSmall = absl::InlinedVector<T, 24>;

std::vector<Output> outputs_among(std::span<const FetchKey> fetches) {
  std::vector<Output> outputs;
  for (const FetchKey& fetch : fetches) {
    if (!fetch.is_operation()) outputs.emplace_back(fetch.node, fetch.index);
  }
  return outputs;
}

std::vector<Node*> targets_of(std::span<const FetchKey> fetches) {
  std::vector<Node*> targets;
  for (const FetchKey& fetch : fetches) {
    if (fetch.is_operation()) targets.push_back(fetch.node);
  }
  return targets;
}

}  // namespace

void VariableSlot::own(runtime::Client& client) {
  if (held()) set(client.buffer_from_host(host_view(*buffer)));
}

void SessionState::clear() {
  const std::lock_guard lock(mutex_);
  for (auto& [handle, slot] : variables_) slot.set(nullptr);
}

Error uninitialized_variable(const Node& handle) {
  return failed_precondition(
      "Attempting to use uninitialized value {}: run global_variables_initializer() first, built "
      "after this variable, {}",
      handle.name(), handle.describe());
}

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
    : key_(std::move(key)), client_(client) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Output> fed;
  for (const Feed& feed : key_.feeds) fed.push_back(feed.output);
  if (!key_.device_only) host_plan_ = plan_host_ops(key_.fetches, fed);
  if (host_plan_ == nullptr) {
    const std::vector<Output> fetches = outputs_among(key_.fetches);
    const std::vector<Node*> targets = targets_of(key_.fetches);
    num_replicas_ = num_replicas_of(graph, fetches, targets, key_.feeds);
    SpecializedProgram program = specialize(graph, fetches, targets, key_.feeds);
    runtime::CompileOptions compile = options;
    if (num_replicas_ > 1) {
      unite_replicas(program, graph, fetches, num_replicas_);
      const auto parameters = program.module->entry().num_parameters();
      compile.num_replicas = num_replicas_;
      compile.replicated_parameters.assign(static_cast<size_t>(parameters), true);
      compile.stacked = true;
    }
    executable_ = client.compile(*program.module, compile);
    bind(program, state);
  }
  compile_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Program::bind(const SpecializedProgram& program, SessionState& state) {
  for (size_t i = 0; i < program.variables.size(); ++i) {
    const Node* handle = program.variables[i];
    if (program.variable_read[i]) reads_.push_back({&state.slot(handle), handle});
  }
  const auto num_fetched = static_cast<int>(outputs_among(key_.fetches).size());
  for (size_t i = 0; i < program.updated.size(); ++i) {
    const int result = num_fetched + static_cast<int>(i);
    const Node* handle = program.variables[static_cast<size_t>(program.updated[i])];
    const bool in_place = std::ranges::any_of(
        program.module->aliases, [&](const auto& alias) { return alias.result == result; });
    updates_.push_back({&state.slot(handle), in_place});
  }
  for (const Node* node : program.random_nodes) run_counts_.push_back(&state.run_count(node));
  if (!run_counts_.empty()) {
    random_state_ = Tensor(DType::u64, {static_cast<int64_t>(run_counts_.size()) + 1});
    session_state_ = &state;
  }
  checks_ = program.checks;
  exclusive_ = !updates_.empty() || !run_counts_.empty();
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

void Program::advance_random_state() const {
  const std::span<uint64_t> state = random_state_.data<uint64_t>();
  state[0] = session_state_->entropy();
  for (size_t i = 0; i < run_counts_.size(); ++i) state[i + 1] = (*run_counts_[i])++;
}

void Program::throw_failed_checks(std::span<const Tensor> flags) const {
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i].item<bool>()) throw Error(checks_[i].code, checks_[i].message);
  }
}

void Program::run(const FeedValues& feeds, std::span<Tensor> fetched) const {
  for (const Update& update : updates_) {
    if (update.in_place) update.slot->own(client_);
  }
  ProgramSmall<runtime::Argument> arguments;
  for (const VariableUse& use : reads_) {
    if (use.slot->buffer == nullptr) {
      throw uninitialized_variable(*use.handle);
    }
    arguments.push_back({.buffer = use.slot->buffer.get()});
  }
  for (const Tensor* value : feeds.values) arguments.push_back({.host = value});
  if (!run_counts_.empty()) {
    advance_random_state();
    arguments.push_back({.host = &random_state_});
  }

  ProgramSmall<runtime::Result> results;
  for (size_t i = 0; i < key_.fetches.size(); ++i) {
    if (!key_.fetches[i].is_operation()) results.push_back({.host = &fetched[i]});
  }
  ProgramSmall<std::unique_ptr<runtime::Buffer>> updated(updates_.size());
  for (size_t i = 0; i < updates_.size(); ++i) {
    results.push_back(updates_[i].in_place ? runtime::Result{}
                                           : runtime::Result{.device = &updated[i]});
  }
  ProgramSmall<Tensor> flags(checks_.size());
  for (Tensor& flag : flags) results.push_back({.host = &flag});

  executable_->execute(arguments, results);
  throw_failed_checks(flags);
  for (size_t i = 0; i < updates_.size(); ++i) {
    if (!updates_[i].in_place) updates_[i].slot->set(std::move(updated[i]));
  }
}

}  // namespace systole
