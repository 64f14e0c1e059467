#include "systole/session/device/device_program.h"

#include <absl/container/inlined_vector.h>

#include "systole/base/mutex.h"
#include "systole/tracing/span.h"

namespace systole {
namespace {

template <class T>
using ProgramSmall = absl::InlinedVector<T, 32>;

}  // namespace

void SessionState::clear() {
  const MutexLock lock(mutex_);
  for (auto& [handle, slot] : variables_) slot.set(nullptr);
}

Error uninitialized_variable(const Node& handle) {
  return failed_precondition(
      "Attempting to use uninitialized value {}: run global_variables_initializer() first, built "
      "after this variable, {}",
      handle.name(), handle.describe());
}

void throw_failed_checks(std::span<const SpecializedProgram::Check> checks,
                         std::span<const Tensor> flags) {
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i].item<bool>()) throw Error(checks[i].code, checks[i].message);
  }
}

void bind_state(DeviceProgram& program, SessionState& state, std::span<const Node* const> variables,
                std::span<const Node* const> updated, std::span<const Node* const> random_nodes) {
  for (const Node* handle : variables) program.reads.push_back({&state.slot(handle), handle});
  for (const Node* handle : updated) program.updates.push_back(&state.slot(handle));
  for (const Node* node : random_nodes) program.run_counts.push_back(&state.run_count(node));
  if (random_nodes.empty()) return;
  program.random_state = Tensor(DType::u64, {static_cast<int64_t>(random_nodes.size()) + 1});
  program.session = &state;
}

void DeviceProgram::note_steps(int64_t begin, int64_t steps) const {
  if (!tracing::active() || executable->stats().notes_steps) return;
  const int64_t ticks = tracing::ticks() - begin;
  for (int64_t i = 0; i < steps; ++i) {
    tracing::record({.begin = begin + ticks * i / steps,
                     .end = begin + ticks * (i + 1) / steps,
                     .name = "step",
                     .kind = tracing::Kind::step,
                     .args = {{"ops", 0}}});
  }
}

runtime::Event DeviceProgram::launch(const LaunchOptions& options) {
  const char* const what = options.on_host ? "function" : "launch";
  const tracing::Kind kind = options.on_host ? tracing::Kind::host : tracing::Kind::launch;
  const tracing::Span span(what, kind, {"steps", options.steps});
  ProgramSmall<runtime::Argument> arguments;
  ProgramSmall<bool> in_place(updates.size(), false);
  const auto pass = [&](const VariableSlot& slot, int update) {
    const bool donate = update >= 0 && !slot.held();
    if (donate) in_place[update] = true;
    arguments.push_back({.buffer = slot.buffer.get(), .donate = donate});
  };
  for (const Read& read : reads) {
    if (read.slot->buffer == nullptr) throw uninitialized_variable(*read.handle);
    pass(*read.slot, read.update);
  }
  arguments.insert(arguments.end(), options.feeds.begin(), options.feeds.end());
  if (!run_counts.empty()) {
    const std::span<uint64_t> counts = random_state.data<uint64_t>();
    counts[0] = session->entropy();
    for (size_t i = 0; i < run_counts.size(); ++i) counts[i + 1] = *run_counts[i];
    arguments.push_back({.host = &random_state});
  }
  arguments.insert(arguments.end(), options.further.begin(), options.further.end());
  for (const Spare& place : spare) pass(place.memory, place.update);

  ProgramSmall<runtime::Result> results(options.fetched.begin(), options.fetched.end());
  ProgramSmall<std::unique_ptr<runtime::Buffer>> updated(updates.size());
  for (size_t u = 0; u < updated.size(); ++u) {
    results.push_back(in_place[u] ? runtime::Result{} : runtime::Result{.device = &updated[u]});
  }
  for (Tensor& flag : options.flags) results.push_back({.host = &flag});

  const int64_t begin = tracing::active() && !options.on_host ? tracing::ticks() : 0;
  runtime::Event done = executable->execute(
      arguments, results, {.profile = options.profile, .notes = !options.on_host});
  if (options.wait || !options.flags.empty() || done.ready()) {
    done.wait();
    if (begin != 0) note_steps(begin, options.steps);
  }
  throw_failed_checks(checks, options.flags);
  // An update that was not written in place replaces the buffer that it would have been written to.
  for (Spare& place : spare) {
    const auto u = static_cast<size_t>(place.update);
    if (!in_place[u]) place.memory.set(std::move(updated[u]));
    std::swap(*updates[u], place.memory);
    in_place[u] = true;
  }
  for (size_t u = 0; u < updated.size(); ++u) {
    if (!in_place[u]) updates[u]->set(std::move(updated[u]));
  }
  return done;
}

}  // namespace systole
