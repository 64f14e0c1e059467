#include "systole/hlo/passes/pass.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "systole/base/clock.h"
#include "systole/base/error.h"
#include "systole/base/open_file.h"
#include "systole/hlo/ir/budget.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/tracing/span.h"

namespace systole::hlo {
namespace {

std::atomic<ModulePrinter> module_printer{nullptr};

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return names;
}

void verify_at(const Module& module, const std::string& place) {
  try {
    verify(module);
  } catch (const Error& error) {
    throw error.with_context(place);
  }
}

// Returns one more than the highest number in the folder, so that a run never replaces the files of
// another.
int next_number(const std::filesystem::path& folder) {
  int next = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    next = std::max(next, std::atoi(entry.path().filename().c_str()) + 1);
  }
  return next;
}

// A debugging aid for local files; the file systems of base/file_system.h are in a higher layer.
void dump(const Module& module, const std::string& folder, std::string_view pass) {
  const ModulePrinter print = module_printer.load();
  if (print == nullptr) return;
  std::error_code ignored;  // opening the file reports what is wrong
  std::filesystem::create_directories(folder, ignored);
  const int number = std::filesystem::is_directory(folder, ignored) ? next_number(folder) : 0;
  const std::string printed = print(module);
  const std::string path = fmt::format("{}/{:03}.after_{}.mlir", folder, number, pass);
  // The name is new, and no link that somebody laid there.
  const FileDescriptor file =
      open_file(path, {.flags = O_WRONLY | O_CREAT | O_EXCL, .follow_link = false, .what = "dump"});
  for (std::string_view text = printed; !text.empty();) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size < 0 && errno != EINTR) throw file_error(path, "dump");
    if (size > 0) text.remove_prefix(static_cast<size_t>(size));
  }
}

}  // namespace

void set_module_printer(ModulePrinter printer) { module_printer = printer; }

PipelineOptions PipelineOptions::from_environment() {
  PipelineOptions options;
#ifndef NDEBUG
  options.verify = true;
#endif
  if (const char* folder = std::getenv("SYSTOLE_DUMP")) options.dump_folder = folder;
  if (const char* names = std::getenv("SYSTOLE_DISABLE_PASSES")) {
    options.disabled = split_names(names);
  }
  return options;
}

Pipeline::Pipeline(std::string name, PipelineOptions options)
    : name_(std::move(name)), options_(std::move(options)) {}

Pipeline& Pipeline::add_fixed_point(std::unique_ptr<Pipeline> pipeline, int limit) {
  steps_.push_back({nullptr, limit, std::move(pipeline)});
  return *this;
}

bool Pipeline::run(Module& module) {
  const BudgetScope budget(module, name_);
  if (options_.verify) verify_at(module, fmt::format("before pipeline '{}'", name_));
  timings_.clear();
  return run_steps(module);
}

std::vector<Pass*> Pipeline::passes() const {
  std::vector<Pass*> all;
  for (const Step& step : steps_) {
    if (step.pass != nullptr) {
      all.push_back(step.pass.get());
    } else {
      const std::vector<Pass*> inner = step.nested->passes();
      all.insert(all.end(), inner.begin(), inner.end());
    }
  }
  return all;
}

std::vector<std::string> Pipeline::pass_names() const {
  std::vector<std::string> names;
  for (const Pass* pass : passes()) {
    if (std::ranges::find(names, pass->name()) == names.end()) names.emplace_back(pass->name());
  }
  return names;
}

bool Pipeline::run_only(std::string_view name, Module& module) {
  for (Pass* pass : passes()) {
    if (pass->name() == name) return run_pass(*pass, module);
  }
  throw not_found("pipeline '{}': pass, got '{}'", name_, name);
}

bool Pipeline::run_steps(Module& module) {
  bool changed = false;
  for (const Step& step : steps_) {
    changed |= step.pass != nullptr ? run_pass(*step.pass, module) : run_nested(step, module);
  }
  return changed;
}

bool Pipeline::run_nested(const Step& step, Module& module) {
  step.nested->options_ = options_;
  step.nested->timings_.clear();
  int rounds = 0;
  while (rounds < step.limit && step.nested->run_steps(module)) ++rounds;
  const std::vector<PassTiming>& inner = step.nested->timings_;
  timings_.insert(timings_.end(), inner.begin(), inner.end());
  return rounds > 0;
}

bool Pipeline::run_pass(Pass& pass, Module& module) {
  if (std::ranges::find(options_.disabled, pass.name()) != options_.disabled.end()) return false;
  const auto start = real_clock().steady_now();
  bool changed = false;
  try {
    const tracing::Span span(std::string(pass.name()), tracing::Kind::compile);
    const BudgetScope budget(module, pass.name());
    changed = pass.run(module);
  } catch (const Error& error) {
    throw error.with_context(fmt::format("in pass '{}'", pass.name()));
  }
  const std::chrono::duration<double> elapsed = real_clock().steady_now() - start;
  timings_.push_back({std::string(pass.name()), elapsed.count(), changed});
  if (!changed) return false;
  if (options_.after_change) options_.after_change(module, timings_.back());
  if (!options_.dump_folder.empty()) dump(module, options_.dump_folder, pass.name());
  if (options_.verify) verify_at(module, fmt::format("after pass '{}'", pass.name()));
  return true;
}

}  // namespace systole::hlo
