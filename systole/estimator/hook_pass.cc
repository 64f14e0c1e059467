#include "systole/estimator/hook_pass.h"

namespace systole::estimator {

HookPass::HookPass(HookList hooks, const HookList& of_model, Graph& graph)
    : hooks_(std::move(hooks)) {
  hooks_.insert(hooks_.end(), of_model.begin(), of_model.end());
  const GraphScope scope(graph);
  for (const auto& hook : hooks_) hook->begin();
}

void HookPass::start(Session& session, int64_t global_step) {
  context_.emplace(session, global_step);
  for (const auto& hook : hooks_) hook->after_create_session(session);
}

bool HookPass::before() {
  for (const auto& hook : hooks_) hook->before_run(*context_);
  return !context_->stop_requested();
}

bool HookPass::after() {
  for (const auto& hook : hooks_) hook->after_run(*context_, {});
  return !context_->stop_requested();
}

void HookPass::end() {
  for (const auto& hook : hooks_) hook->end(context_->session());
}

}  // namespace systole::estimator
