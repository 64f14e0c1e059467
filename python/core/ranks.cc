#include "ranks.h"

#include <algorithm>
#include <functional>

#include "runs.h"
#include "systole/base/error.h"
#include "systole/graph/core/unranked.h"

namespace systole::python {
namespace {

constexpr size_t kMostChoices = 16;
constexpr int kHighestRank = 4;  // a batch of images
constexpr int kAsItIs = -1;

// The axes of what is fed to a placeholder without a shape; kAsItIs for any other key, and for a scalar.
int rank_fed(nb::handle key, nb::handle value) {
  if (!nb::isinstance<TensorHandle>(key)) return kAsItIs;
  const Output& output = nb::inst_ptr<TensorHandle>(key)->output;
  if (output.node()->num_inputs() > 0 || !is_unranked(output) || symbolic_dtype(value) != DType::invalid) return kAsItIs;
  if (PyFloat_CheckExact(value.ptr()) || PyBool_Check(value.ptr()) || PyLong_CheckExact(value.ptr())) return kAsItIs;
  Keep keep;
  const int rank = tensor_of(value, output.dtype(), &keep).rank();
  return rank == 0 ? kAsItIs : rank;
}

nb::object ranked_object(RankedCopy& copy, nb::handle value) {
  if (nb::isinstance<TensorHandle>(value)) return wrap(copy.of(nb::cast<const TensorHandle&>(value).output));
  if (nb::isinstance<OperationHandle>(value)) return wrap(copy.of(nb::cast<const OperationHandle&>(value).operation));
  return nb::borrow(value);
}

RunArguments ranked_arguments(const RunArguments& run, const std::vector<int>& ranks) {
  return building([&] {
    std::vector<RankedCopy::Rank> chosen;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] != kAsItIs) chosen.push_back({key_of(run.feeds[i].first), ranks[i]});
    }
    RankedCopy copy(chosen.front().placeholder.graph(), chosen);
    RunArguments ranked;
    for (const nb::object& fetch : run.fetches) ranked.fetches.push_back(ranked_object(copy, fetch));
    for (size_t i = 0; i < ranks.size(); ++i) {
      const nb::object& key = run.feeds[i].first;
      ranked.feeds.emplace_back(ranks[i] == kAsItIs ? key : ranked_object(copy, key), nb::none());
    }
    return ranked;
  });
}

bool same(const nb::object& a, const nb::object& b) { return a.is(b) || a.equal(b); }

// Calls f(tensor) for the tensors among values, also those in lists.
void for_each_tensor(nb::handle value, const std::function<void(const Output&)>& f) {
  if (nb::isinstance<TensorHandle>(value)) f(nb::cast<const TensorHandle&>(value).output);
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) return;
  for (nb::handle element : nb::borrow<nb::object>(value)) for_each_tensor(element, f);
}

nb::object with_ranked_tensors(RankedCopy& copy, nb::handle value) {
  if (!PyList_CheckExact(value.ptr()) && !PyTuple_CheckExact(value.ptr())) return ranked_object(copy, value);
  nb::list list;
  for (nb::handle element : nb::borrow<nb::object>(value)) list.append(with_ranked_tensors(copy, element));
  return list;
}

}  // namespace

const RankedRuns::Choice* RankedRuns::find(const RunArguments& run, const std::vector<int>& ranks) const {
  const auto found = std::ranges::find_if(choices_, [&](const auto& choice) {
    const auto same_key = [](const nb::object& key, const auto& feed) { return same(key, feed.first); };
    return choice->ranks == ranks && std::ranges::equal(choice->fetches, run.fetches, same) &&
           std::ranges::equal(choice->keys, run.feeds, same_key);
  });
  return found == choices_.end() ? nullptr : found->get();
}

void RankedRuns::apply(RunArguments& run) {
  std::vector<int> ranks;
  for (const auto& [key, value] : run.feeds) ranks.push_back(rank_fed(key, value));
  if (std::ranges::all_of(ranks, [](int rank) { return rank == kAsItIs; })) return;
  const Choice* choice = find(run, ranks);
  if (choice == nullptr) {
    auto made = std::make_shared<Choice>(Choice{run.fetches, {}, ranks, ranked_arguments(run, ranks)});
    for (const auto& [key, value] : run.feeds) made->keys.push_back(key);
    choices_.insert(choices_.begin(), std::move(made));
    if (choices_.size() > kMostChoices) choices_.pop_back();
    choice = choices_.front().get();
  }
  run.fetches = choice->ranked.fetches;
  for (size_t i = 0; i < run.feeds.size(); ++i) run.feeds[i].first = choice->ranked.feeds[i].first;
}

nb::object call_with_ranks(nb::dict values, const std::function<nb::object(nb::dict)>& call) {
  std::vector<Output> placeholders;
  for (auto [name, value] : values) {
    for_each_tensor(value, [&](const Output& tensor) {
      if (!is_unranked(tensor)) return;
      for (const Output& found : unranked_placeholders(tensor)) {
        if (std::ranges::find(placeholders, found) == placeholders.end()) placeholders.push_back(found);
      }
    });
  }
  if (placeholders.empty()) return {};
  for (int rank = 1; rank <= kHighestRank; ++rank) {
    std::vector<RankedCopy::Rank> ranks;
    for (const Output& placeholder : placeholders) ranks.push_back({placeholder, rank});
    try {
      RankedCopy copy(placeholders.front().graph(), ranks);
      nb::dict ranked;
      for (auto [name, value] : values) ranked[name] = with_ranked_tensors(copy, value);
      return call(ranked);
    } catch (const Error&) {
      continue;  // another rank
    }
  }
  return {};
}

}  // namespace systole::python
