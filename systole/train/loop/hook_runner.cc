#include "systole/train/loop/hook_runner.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <typeinfo>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/tracing/span.h"
#include "systole/train/loop/print_hook.h"

namespace systole::train {
namespace {

// The name of the hook's class, without namespaces, for recordings.
const char* class_name(const SessionRunHook& hook) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> full(
      abi::__cxa_demangle(typeid(hook).name(), nullptr, nullptr, &status), &std::free);
  std::string_view name = full != nullptr ? full.get() : "hook";
  const size_t colon = name.rfind("::");
  if (colon != std::string_view::npos && !name.ends_with(')')) name.remove_prefix(colon + 2);
  return tracing::intern(name);
}

}  // namespace

bool is_checkpoint_schedule(const SessionRunHook* hook) {
  const auto* const saver = dynamic_cast<const CheckpointSaverHook*>(hook);
  return saver != nullptr && !saver->options().save;
}

std::optional<CheckpointSaverHook::Options> take_checkpoint_schedule(HookList& hooks) {
  std::optional<CheckpointSaverHook::Options> schedule;
  std::erase_if(hooks, [&](const std::shared_ptr<SessionRunHook>& hook) {
    if (!is_checkpoint_schedule(hook.get())) return false;
    if (schedule) {
      throw invalid_argument(
          "hooks: CheckpointSaverHook without `save`, got a second one, expected one: it saves the "
          "training's checkpoints");
    }
    schedule = static_cast<const CheckpointSaverHook&>(*hook).options();
    return true;
  });
  return schedule;
}

void restore_random_state(Session& session, const CheckpointExtras& extras) {
  const auto random = extras.find("random");
  if (random == extras.end()) return;
  try {
    session.set_random_state(random->second);
  } catch (const Error& error) {
    if (error.code() != Code::failed_precondition) throw;
    log_warning("random numbers: begin anew, as the checkpoint is of another graph: {}",
                error.message());
  }
}

void FirstError::attempt(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    if (error_) {
      log_error("{}", error.what());
    } else {
      error_ = std::current_exception();
    }
  }
}

HookRunner::HookRunner(HookList hooks, Graph& graph) : hooks_(std::move(hooks)) {
  const GraphScope scope(graph);
  for (size_t i = 0; i < hooks_.size(); ++i) {
    if (hooks_[i] != nullptr) continue;
    throw invalid_argument("All hooks must be SessionRunHook instances, got a null pointer at {}",
                           i);
  }
  for (const auto& hook : hooks_) hook->begin();
  for (const auto& hook : hooks_) {
    const std::vector<Output> wanted = hook->fetches();
    fetches_of_hook_.push_back(wanted.size());
    fetches_.insert(fetches_.end(), wanted.begin(), wanted.end());
  }
}

void HookRunner::add_prints(const Graph& graph, std::span<const Output> step,
                            std::span<const Operation> targets) {
  std::vector<const Node*> roots;
  for (const Output& output : fetches_) roots.push_back(output.node());
  for (const Output& output : step) roots.push_back(output.node());
  for (const Operation& target : targets) roots.push_back(target.node());
  const auto prints = print_hook_for(graph, std::move(roots));
  if (!prints) return;
  const std::vector<Output> printed = prints->fetches();
  hooks_.insert(hooks_.begin(), prints);
  fetches_of_hook_.insert(fetches_of_hook_.begin(), printed.size());
  fetches_.insert(fetches_.begin(), printed.begin(), printed.end());
}

std::span<const Tensor> HookRunner::values_of(const SessionRunHook& hook,
                                              std::span<const Tensor> values) const {
  size_t first = 0;
  size_t i = 0;
  for (; hooks_[i].get() != &hook; ++i) first += fetches_of_hook_[i];
  return values.subspan(first, fetches_of_hook_[i]);
}

int64_t HookRunner::steps_to_next_run(int64_t global_step) const {
  int64_t steps = INT64_MAX;
  for (const auto& hook : hooks_) {
    steps = std::min(steps, std::max<int64_t>(hook->steps_to_next_run(global_step), 1));
  }
  return steps;
}

bool HookRunner::start(Session& session, int64_t global_step) {
  context_.emplace(session, global_step);
  class_names_.clear();
  for (const auto& hook : hooks_) class_names_.push_back(class_name(*hook));
  for (const auto& hook : hooks_) {
    hook->after_create_session(session);
    auto* const stop = dynamic_cast<StopAtStepHook*>(hook.get());
    if (stop != nullptr) stop->stop_if_complete(*context_);
  }
  return !context_->stop_requested();
}

bool HookRunner::before() {
  for (size_t i = 0; i < hooks_.size(); ++i) {
    const tracing::Span span(class_names_[i], tracing::Kind::hook);
    hooks_[i]->before_run(*context_);
  }
  return !context_->stop_requested();
}

bool HookRunner::after(const LoopRun& run, std::span<const Tensor> values) {
  context_->step_ = run.global_step;
  context_->steps_ = run.steps;
  context_->seconds_ = run.seconds;
  context_->examples_ = run.examples;
  size_t next = 0;
  for (size_t i = 0; i < hooks_.size(); ++i) {
    const tracing::Span span(class_names_[i], tracing::Kind::hook);
    try {
      hooks_[i]->after_run(*context_, values.subspan(next, fetches_of_hook_[i]));
    } catch (const Error& error) {
      if (error.code() != Code::out_of_range) throw;
      log_warning("{}: stops after step {}: {}", class_names_[i], run.global_step, error.message());
      context_->request_stop();
    }
    next += fetches_of_hook_[i];
  }
  return !context_->stop_requested();
}

void HookRunner::end() {
  FirstError errors;
  for (const bool savers : {true, false}) {
    for (const auto& hook : hooks_) {
      const bool saver = dynamic_cast<const CheckpointSaverHook*>(hook.get()) != nullptr;
      if (saver == savers) errors.attempt([&] { hook->end(context_->session()); });
    }
  }
  errors.rethrow();
}

void HookRunner::save_states(CheckpointExtras& extras) const {
  for (const auto& hook : hooks_) {
    if (!hook->state_name().empty()) extras["hook/" + hook->state_name()] = hook->save_state();
  }
}

void HookRunner::restore_states(const CheckpointExtras& extras) {
  for (const auto& hook : hooks_) {
    const auto state = extras.find("hook/" + hook->state_name());
    if (!hook->state_name().empty() && state != extras.end()) hook->restore_state(state->second);
  }
}

Tensor of_first_replica(const Tensor& result) {
  const Tensor first = result.slice(0, 1);
  return first.reshape(Shape(std::span<const int64_t>(first.shape().dims()).subspan(1)));
}

Tensor take_rows(const Tensor& from, std::span<const int64_t> rows) {
  Dims dims = from.shape().dims();
  const auto bytes = static_cast<size_t>(from.byte_size() / dims[0]);
  dims[0] = static_cast<int64_t>(rows.size());
  Tensor result(from.dtype(), Shape(std::move(dims)));
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(result.raw());
  for (const int64_t row : rows) {
    std::memcpy(target, source + static_cast<size_t>(row) * bytes, bytes);
    target += bytes;
  }
  return result;
}

std::vector<Tensor> hook_values(std::span<const Tensor> results, int64_t steps) {
  std::vector<Tensor> values;
  values.reserve(results.size());
  for (const Tensor& result : results) {
    // [steps, replicas, ...] or [replicas, ...].
    values.push_back(steps > 0 ? of_first_replica(of_first_replica(result.slice(steps - 1, steps)))
                               : of_first_replica(result));
  }
  return values;
}

}  // namespace systole::train
