#include "systole/train/loop/progress_hook.h"

#include <unistd.h>

#include "systole/train/losses/losses.h"

namespace systole {
namespace {

std::string rate_text(double rate, std::string_view what) {
  return rate < 1000 ? fmt::format("{:.4g} {}/s", rate, what)
                     : fmt::format("{:.0f} {}/s", rate, what);
}

}  // namespace

ProgressHook::ProgressHook(Options options) : options_(std::move(options)) {}

ProgressHook::~ProgressHook() {
  if (progress_) progress_->finish();
}

void ProgressHook::begin() {
  loss_ = losses::get_losses().empty() ? Output() : losses::get_total_loss();
}

std::vector<Output> ProgressHook::fetches() {
  return loss_.valid() ? std::vector<Output>{loss_} : std::vector<Output>{};
}

void ProgressHook::before_run(RunContext& context) {
  if (progress_) return;
  const bool terminal = options_.terminal.value_or(::isatty(::fileno(options_.out)) != 0);
  constexpr int64_t kUnknownTotal = -1;
  const int64_t begun = options_.counts_batches ? 0 : context.global_step();
  const int64_t total = options_.steps            ? begun + *options_.steps
                        : options_.counts_batches ? kUnknownTotal
                                                  : options_.last_step;
  progress_.emplace(options_.clock == nullptr ? real_clock() : *options_.clock, options_.out,
                    terminal, options_.name, total, begun);
}

void ProgressHook::after_run(RunContext& context, std::span<const Tensor> values) {
  std::string note =
      options_.counts_batches
          ? rate_text(static_cast<double>(context.examples()) / context.seconds(), "examples")
          : rate_text(static_cast<double>(context.steps()) / context.seconds(), "steps");
  if (!values.empty()) note = fmt::format("loss {:.4f}, {}", values[0].as_double(0), note);
  progress_->set_note(std::move(note));
  progress_->add(context.steps());
}

void ProgressHook::end(Session&) {
  if (progress_) progress_->finish(true);
}

}  // namespace systole
