#include "systole/data/feed/feed_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace systole {
namespace {

// A wait below this share of the time does not matter.
constexpr double kTolerated = 0.02;

}  // namespace

std::string remedy(const StageStats& stage) {
  const auto is = [&](std::string_view name) { return stage.name == name; };
  if ((is("map") || is("map_cpp") || is("map_batches")) && !stage.threaded) {
    return "give it num_parallel_calls = AUTOTUNE";
  }
  if (is("parse_batch")) return "give the map that parses num_parallel_calls = AUTOTUNE";
  if (stage.name.starts_with("map")) return "all its threads are busy: make the function cheaper";
  if (is("TFRecordDataset")) return "read more files at once with num_parallel_reads";
  if (is("interleave")) return "give it num_parallel_calls";
  if (stage.depth == 0) return "add prefetch() before it, so that the other stages run in parallel";
  if (is("from_generator") || is("filter")) return "add prefetch() directly after it";
  return "add prefetch() after it, so that it runs in parallel with the later stages";
}

const StageStats* FeedReport::slowest() const {
  const auto it = std::ranges::max_element(stages, {}, &StageStats::busy_seconds_of_each);
  return it == stages.end() || it->elements == 0 ? nullptr : &*it;
}

std::string FeedReport::advice() const {
  const StageStats* const slow = slowest();
  if (slow == nullptr || seconds <= 0) return "Nothing has run yet.";
  const double share = waited_seconds / seconds;
  if (share < kTolerated) {
    return fmt::format("The input keeps up: the device waited {:.1f} % of the time.", 100 * share);
  }
  return fmt::format("The device waited {:.1f} % of the time. The slowest stage is {}: {}.",
                     100 * share, slow->name, remedy(*slow));
}

std::string FeedReport::to_string() const {
  std::string text = fmt::format("{:<28} {:>12} {:>8} {:>12} {:>12}\n", "stage", "elements",
                                 "threads", "busy s", "waited s");
  for (const StageStats& stage : stages) {
    const std::string name = std::string(static_cast<size_t>(stage.depth), ' ') + stage.name;
    text += fmt::format("{:<28} {:>12} {:>8} {:>12.4f} {:>12}\n", name, stage.elements,
                        stage.threads, stage.busy_seconds,
                        stage.threaded ? fmt::format("{:.4f}", stage.waited_seconds) : "-");
  }
  return text + advice() + "\n";
}

}  // namespace systole
