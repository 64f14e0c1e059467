#include "systole/profile/timeline.h"

#include <algorithm>
#include <tuple>

namespace systole::profile {

using tracing::Event;
using tracing::Kind;

std::vector<NestedSpan> nest(const std::vector<Event>& events) {
  std::vector<NestedSpan> spans;
  spans.reserve(events.size());
  for (const Event& event : events) spans.push_back({.event = &event});
  std::ranges::stable_sort(spans, [](const NestedSpan& a, const NestedSpan& b) {
    if (a.event->begin != b.event->begin) return a.event->begin < b.event->begin;
    if (a.event->end != b.event->end) return a.event->end > b.event->end;
    return a.event->kind < b.event->kind;  // a step before its only op
  });
  std::vector<int> open;
  for (size_t i = 0; i < spans.size(); ++i) {
    const Event& event = *spans[i].event;
    while (!open.empty() && spans[open.back()].end <= event.begin) open.pop_back();
    spans[i].end = event.end;
    if (!open.empty()) {
      NestedSpan& parent = spans[open.back()];
      spans[i].parent = open.back();
      spans[i].end = std::min(event.end, parent.end);
      parent.children.push_back(static_cast<int>(i));
      parent.self_ns -= spans[i].end - event.begin;
    }
    spans[i].self_ns = spans[i].end - event.begin;
    open.push_back(static_cast<int>(i));
  }
  return spans;
}

std::vector<std::pair<int64_t, int64_t>> self_intervals(const std::vector<NestedSpan>& spans,
                                                        size_t index) {
  const NestedSpan& span = spans[index];
  std::vector<std::pair<int64_t, int64_t>> result;
  int64_t at = span.event->begin;
  for (const int child : span.children) {
    const NestedSpan& inner = spans[child];
    if (inner.event->begin > at) result.emplace_back(at, inner.event->begin);
    at = std::max(at, inner.end);
  }
  if (span.end > at) result.emplace_back(at, span.end);
  return result;
}

const tracing::ThreadEvents* training_thread(const tracing::Recording& recording) {
  const tracing::ThreadEvents* best = nullptr;
  // Evaluation has steps, too, but no loops.
  std::tuple<bool, int64_t, size_t> most{false, -1, 0};
  for (const tracing::ThreadEvents& thread : recording.threads) {
    int64_t steps = 0;
    bool loops = false;
    for (const Event& event : thread.events) {
      if (event.kind == Kind::step) steps += event.end - event.begin;
      loops = loops || event.kind == Kind::loop;
    }
    const std::tuple<bool, int64_t, size_t> rank{loops && steps > 0, steps, thread.events.size()};
    if (rank <= most) continue;
    most = rank;
    best = &thread;
  }
  return best;
}

}  // namespace systole::profile
