#include "runs.h"

#include <algorithm>
#include <optional>

#include "systole/base/error.h"

namespace systole::python {
namespace {

// Runs that a session keeps: a program's loop has few.
constexpr size_t kMostRuns = 16;

// A tensor, an operation (-1) or a variable (-2) of a graph.
struct Place {
  const Node* node = nullptr;
  int index = 0;
  bool operator==(const Place&) const = default;
};

std::optional<Place> place_of(nb::handle value) {
  if (nb::isinstance<TensorHandle>(value)) {
    const Output& output = nb::inst_ptr<TensorHandle>(value)->output;
    return Place{output.node(), output.index()};
  }
  if (nb::isinstance<OperationHandle>(value)) return Place{nb::inst_ptr<OperationHandle>(value)->operation.node(), -1};
  if (nb::isinstance<VariableHandle>(value)) return Place{nb::inst_ptr<VariableHandle>(value)->variable.handle().node(), -2};
  return std::nullopt;
}

bool is_sequence(nb::handle value) { return PyList_CheckExact(value.ptr()) || PyTuple_CheckExact(value.ptr()); }

}  // namespace

// What a call asks for.
struct Runs::Wanted : RunArguments {
  std::vector<Place> places;  // of the fetches, then of the keys

  // Returns false for what is not plain.
  bool read(nb::handle all, nb::handle feed_dict, RankedRuns& ranks) {
    if (is_sequence(all)) {
      for (nb::handle fetch : nb::borrow<nb::object>(all)) fetches.push_back(nb::borrow(fetch));
    } else {
      fetches.push_back(nb::borrow(all));
    }
    const auto is_plain = [](const nb::object& fetch) { return place_of(fetch).has_value(); };
    if (!std::ranges::all_of(fetches, is_plain)) return false;
    if (!feed_dict.is_none() && !read_feeds(feed_dict)) return false;
    ranks.apply(*this);
    for (const nb::object& fetch : fetches) places.push_back(*place_of(fetch));
    for (const auto& [key, value] : feeds) places.push_back(*place_of(key));
    return true;
  }

 private:
  bool read_feeds(nb::handle feed_dict) {
    if (!PyDict_CheckExact(feed_dict.ptr())) return false;
    Py_ssize_t next = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(feed_dict.ptr(), &next, &key, &value) != 0) {
      const std::optional<Place> place = place_of(key);
      if (!place || place->index == -1) return false;
      feeds.emplace_back(nb::borrow(key), nb::borrow(value));
    }
    return true;
  }
};

// A run and its Callable, which it gets when it is run again.
struct Runs::Run {
  std::shared_ptr<Session> session;
  std::vector<Place> places;
  std::vector<Output> keys;
  std::optional<Session::Callable> call = std::nullopt;
  bool busy = false;
  bool once = false;  // results may lie in the feeds' memory, which a Callable would write to
};

std::shared_ptr<Runs::Run> Runs::find(const Wanted& wanted) {
  const auto found = std::ranges::find_if(runs_, [&](const auto& run) { return run->places == wanted.places; });
  if (found == runs_.end()) {
    auto made = std::make_shared<Run>(Run{.session = session_, .places = wanted.places, .keys = {}});
    for (const auto& [key, value] : wanted.feeds) made->keys.push_back(key_of(key));
    runs_.insert(runs_.begin(), std::move(made));
    if (runs_.size() > kMostRuns) runs_.pop_back();
    return nullptr;
  }
  std::rotate(runs_.begin(), found, found + 1);
  Run& run = *runs_.front();
  if (run.busy || run.once) return nullptr;
  if (!run.call) {
    std::vector<Fetch> fetches;
    for (const nb::object& fetch : wanted.fetches) fetches.push_back(fetch_of(fetch));
    run.call = session_->make_callable(fetches, run.keys);
  }
  return runs_.front();
}

std::vector<Tensor> Runs::run_once(Session& session, const Wanted& wanted, std::span<const Tensor> values) {
  std::vector<Fetch> fetches;
  for (const nb::object& fetch : wanted.fetches) fetches.push_back(fetch_of(fetch));
  FeedDict items;
  for (size_t i = 0; i < values.size(); ++i) items.emplace_back(key_of(wanted.feeds[i].first), FeedValue(values[i]));
  const nb::gil_scoped_release unlocked;
  return session.run(std::span<const Fetch>(fetches), std::span<const FeedItem>(items));
}

nb::object Runs::run(nb::handle fetches, nb::handle feeds) {
  Wanted wanted;
  if (!wanted.read(fetches, feeds, ranks_)) return nb::borrow(Py_NotImplemented);
  Keep keep;
  std::vector<Tensor> values;
  values.reserve(wanted.feeds.size());
  const std::shared_ptr<Session> session = session_;
  if (session == nullptr) throw failed_precondition("Session: Attempted to use a closed Session");
  const std::shared_ptr<Run> run = find(wanted);
  for (size_t i = 0; i < wanted.feeds.size(); ++i) {
    const auto& [key, value] = wanted.feeds[i];
    values.push_back(feed_of(value, run != nullptr ? run->keys[i] : key_of(key), keep));
  }
  std::vector<Tensor> fetched;
  std::span<const Tensor> results;
  std::unique_ptr<bool, void (*)(bool*)> idle(nullptr, [](bool* busy) { *busy = false; });
  if (run != nullptr && !run->busy) {
    // Until the results are Python's: the next call writes to them.
    run->busy = true;
    idle.reset(&run->busy);
    const nb::gil_scoped_release unlocked;
    results = (*run->call)(values);
  } else {
    fetched = run_once(*session, wanted, values);
    results = fetched;
  }
  const auto object_of = [&](const Tensor& result) {
    const bool aliases = result.valid() && keep.holds(result);
    if (aliases && run != nullptr) run->once = true;
    return array_of(aliases ? result.clone() : result);
  };
  if (!is_sequence(fetches)) return object_of(results[0]);
  nb::list list;
  for (const Tensor& result : results) list.append(object_of(result));
  return PyTuple_CheckExact(fetches.ptr()) ? nb::object(nb::tuple(list)) : nb::object(list);
}

}  // namespace systole::python
