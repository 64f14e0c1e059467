#include "systole/base/suggest.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace systole {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

// Returns the first candidate that starts with `part`, or else the first that contains it, in lower
// case.
std::string name_with(const std::string& part, std::span<const std::string> candidates) {
  constexpr size_t kMinBegin = 3;
  constexpr size_t kMinPart = 5;
  const auto found = [&](const auto& has) {
    const auto it = std::ranges::find_if(
        candidates, [&](const std::string& candidate) { return has(lower_case(candidate)); });
    return it == candidates.end() ? std::string() : *it;
  };
  std::string best;
  if (part.size() >= kMinBegin) {
    best = found([&](const std::string& candidate) { return candidate.starts_with(part); });
  }
  if (best.empty() && part.size() >= kMinPart) {
    best = found(
        [&](const std::string& candidate) { return candidate.find(part) != std::string::npos; });
  }
  return best;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_back(b.size() + 1);
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], two_back[j - 2] + 1);
      }
    }
    two_back.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::string closest_name(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = lower_case(name);
  size_t best_distance = std::max<size_t>(1, std::min<size_t>(wanted.size() / 3, 3)) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(wanted, lower_case(candidate));
    if (distance < best_distance && distance < std::max(wanted.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best.empty() ? name_with(wanted, candidates) : best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string best = closest_name(name, candidates);
  return best.empty() ? "" : fmt::format(", did you mean '{}'?", best);
}

}  // namespace systole
