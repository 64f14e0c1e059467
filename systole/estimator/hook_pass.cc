#include "systole/estimator/hook_pass.h"

#include <cstring>
#include <utility>

#include "systole/base/error.h"

namespace systole::estimator {

std::optional<CheckpointSaverHook::Options> take_checkpoint_schedule(HookList& hooks) {
  std::optional<CheckpointSaverHook::Options> schedule;
  std::erase_if(hooks, [&](const std::shared_ptr<SessionRunHook>& hook) {
    const auto* const saver = dynamic_cast<const CheckpointSaverHook*>(hook.get());
    if (saver == nullptr || saver->options().save) return false;
    if (schedule) {
      throw invalid_argument(
          "hooks: CheckpointSaverHook without `save`, got a second one, expected one: it saves the "
          "training's checkpoints");
    }
    schedule = saver->options();
    return true;
  });
  return schedule;
}

HookPass::HookPass(HookList hooks, Graph& graph) : hooks_(std::move(hooks)) {
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

void HookPass::start(Session& session, int64_t global_step) {
  context_.emplace(session, global_step);
  for (const auto& hook : hooks_) hook->after_create_session(session);
}

bool HookPass::before() {
  for (const auto& hook : hooks_) hook->before_run(*context_);
  return !context_->stop_requested();
}

bool HookPass::after(LoopRun run, std::span<const Tensor> values) {
  context_->profile_ = std::move(run.profile);
  context_->profile_requested_ = false;
  context_->step_ = run.global_step;
  context_->steps_ = run.steps;
  context_->seconds_ = run.seconds;
  context_->examples_ = run.examples;
  size_t next = 0;
  for (size_t i = 0; i < hooks_.size(); ++i) {
    hooks_[i]->after_run(*context_, values.subspan(next, fetches_of_hook_[i]));
    next += fetches_of_hook_[i];
  }
  return !context_->stop_requested();
}

void HookPass::end() {
  for (const auto& hook : hooks_) hook->end(context_->session());
}

void HookPass::save_states(CheckpointExtras& extras) const {
  for (const auto& hook : hooks_) {
    if (!hook->state_name().empty()) extras["hook/" + hook->state_name()] = hook->save_state();
  }
}

void HookPass::restore_states(const CheckpointExtras& extras) {
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
    // A step is what comes first then.
    values.push_back(steps > 0 ? of_first_replica(of_first_replica(result.slice(steps - 1, steps)))
                               : of_first_replica(result));
  }
  return values;
}

}  // namespace systole::estimator
