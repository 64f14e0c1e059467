#include "apps/systole/hlo/bench_compile.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/systole/hlo/programs.h"
#include "systole/base/error.h"
#include "systole/runtime/memory.h"
#include "systole/tracing/recorder.h"

namespace systole::app {
namespace {

struct Part {
  std::string name;
  double seconds = 0;
  int64_t count = 0;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The spans of compilation by name, the greatest first. Spans of one thread nest.
std::vector<Part> parts_of(const tracing::Recording& recording) {
  std::map<std::string, Part> parts;
  for (const tracing::ThreadEvents& thread : recording.threads) {
    std::vector<tracing::Event> events = thread.events;
    std::erase_if(events, [](const auto& e) { return e.kind != tracing::Kind::compile; });
    std::ranges::stable_sort(events, [](const auto& a, const auto& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<const tracing::Event*> open;
    for (const tracing::Event& event : events) {
      while (!open.empty() && open.back()->end <= event.begin) open.pop_back();
      const double seconds = static_cast<double>(event.end - event.begin) * 1e-9;
      if (!open.empty()) parts[open.back()->name].seconds -= seconds;
      Part& part = parts[event.name];
      part.name = event.name;
      part.seconds += seconds;
      ++part.count;
      open.push_back(&event);
    }
  }
  std::vector<Part> sorted;
  for (auto& [name, part] : parts) sorted.push_back(std::move(part));
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Part::seconds);
  return sorted;
}

}  // namespace

void bench_compile(const hlo::Module& module, const std::string& backend_name, int threads,
                   bool json) {
  runtime::Client& client = backend(backend_name);
  if (!tracing::start({.workers = false})) throw internal_error("a recording is in progress");
  const double start = processor_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const auto executable = client.compile(module, {.num_threads = threads});
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const double processor = processor_seconds() - start;
  const std::vector<Part> parts = parts_of(tracing::stop());
  const runtime::ExecutableStats& stats = executable->stats();
  if (json) {
    nlohmann::ordered_json all = {{"compile_seconds", elapsed.count()},
                                  {"processor_seconds", processor},
                                  {"code_bytes", stats.code_bytes},
                                  {"code_cached", stats.code_cached},
                                  {"parts", nlohmann::ordered_json::array()}};
    for (const Part& part : parts)
      all["parts"].push_back(
          {{"part", part.name}, {"seconds", part.seconds}, {"runs", part.count}});
    fmt::print("{}\n", all.dump(2));
    return;
  }
  fmt::print("  compile    {:.1f} ms, {:.1f} ms of processor time, {} of code{}\n\n",
             elapsed.count() * 1e3, processor * 1e3,
             runtime::bytes_text(static_cast<double>(stats.code_bytes)),
             stats.code_cached ? " (from the cache)" : "");
  fmt::print("{:>10} {:>7} {:>6}  part\n", "time ms", "time %", "runs");
  double total = 0;
  for (const Part& part : parts) total += part.seconds;
  for (const Part& part : parts) {
    fmt::print("{:>10.2f} {:>7.1f} {:>6}  {}\n", part.seconds * 1e3,
               total > 0 ? 100 * part.seconds / total : 0, part.count, part.name);
  }
}

}  // namespace systole::app
