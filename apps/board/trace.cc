#include "apps/board/trace.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/board/json_text.h"
#include "apps/board/names.h"
#include "apps/board/run.h"
#include "systole/io/wire/compression.h"

namespace systole::board {
namespace {

using nlohmann::json;

constexpr size_t kMaxEvents = 1'000'000;
constexpr size_t kMaxArgs = 200'000;  // events with arguments
constexpr size_t kMaxTraceNameBytes = 300;

struct TraceEvent {
  uint32_t track = 0;
  uint32_t name = 0;
  double begin = 0;
  double duration = 0;
  uint32_t depth = 0;
  json args;
};

struct Track {
  std::string process;
  std::string thread;
  double process_order = 0;
  double thread_order = 0;
};

double number_of(const json& event, const char* key, double otherwise) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string text_of(const json& event, const char* key) {
  const auto found = event.find(key);
  if (found == event.end()) return "";
  return safe_text(found->is_string() ? found->get<std::string>() : json_text(*found),
                   kMaxTraceNameBytes);
}

// Takes one trace event after another.
class TraceBuilder {
 public:
  void add(json&& event) {
    if (!event.is_object()) return;
    const std::string phase = text_of(event, "ph");
    if (phase == "M") {
      add_metadata(event);
    } else if (phase == "X" || phase == "B") {
      add_event(std::move(event), phase == "B");
    } else if (phase == "E") {
      end_event(event);
    }
  }

  std::string finish() {
    std::vector<uint32_t> order = order_tracks();
    std::vector<uint32_t> place(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (TraceEvent& event : events_) event.track = place[event.track];
    std::ranges::stable_sort(
        events_, {}, [](const TraceEvent& e) { return std::tuple(e.track, e.begin, -e.duration); });
    set_depths();
    return text(order);
  }

 private:
  using Key = std::pair<std::string, std::string>;  // pid and tid

  uint32_t track_of(const json& event) {
    Key key{text_of(event, "pid"), text_of(event, "tid")};
    const auto [found, is_new] = track_index_.try_emplace(key, tracks_.size());
    if (is_new) {
      tracks_.push_back({.thread = fmt::format("{}", key.second)});
      track_processes_.push_back(key.first);
    }
    return found->second;
  }

  void add_metadata(const json& event) {
    const std::string what = text_of(event, "name");
    const auto args = event.find("args");
    if (args == event.end() || !args->is_object()) return;
    if (what == "process_name") {
      process_names_[text_of(event, "pid")] = text_of(*args, "name");
    } else if (what == "process_sort_index") {
      process_orders_[text_of(event, "pid")] = number_of(*args, "sort_index", 0);
    } else if (what == "thread_name") {
      tracks_[track_of(event)].thread = text_of(*args, "name");
    } else if (what == "thread_sort_index") {
      tracks_[track_of(event)].thread_order = number_of(*args, "sort_index", 0);
    }
  }

  void add_event(json&& event, bool open) {
    if (events_.size() >= kMaxEvents) {
      ++cut_;
      return;
    }
    const uint32_t track = track_of(event);
    const std::string name = text_of(event, "name");
    const auto [found, is_new] = name_index_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    if (open) open_[track].push_back(events_.size());
    TraceEvent added{.track = track,
                     .name = static_cast<uint32_t>(found->second),
                     .begin = number_of(event, "ts", 0),
                     .duration = std::max(number_of(event, "dur", 0), 0.0)};
    const auto args = event.find("args");
    if (args != event.end() && args->is_object() && !args->empty() && args_++ < kMaxArgs) {
      added.args = std::move(*args);
    }
    events_.push_back(std::move(added));
  }

  void end_event(const json& event) {
    std::vector<size_t>& open = open_[track_of(event)];
    if (open.empty()) return;
    TraceEvent& begun = events_[open.back()];
    open.pop_back();
    begun.duration = std::max(number_of(event, "ts", begun.begin) - begun.begin, 0.0);
  }

  std::vector<uint32_t> order_tracks() {
    std::vector<uint32_t> order(tracks_.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      const std::string& pid = track_processes_[i];
      const auto name = process_names_.find(pid);
      tracks_[i].process = name == process_names_.end() ? "process " + pid : name->second;
      const auto place = process_orders_.find(pid);
      if (place != process_orders_.end()) tracks_[i].process_order = place->second;
    }
    std::ranges::stable_sort(order, {}, [&](uint32_t i) {
      return std::tuple(tracks_[i].process_order, tracks_[i].process, tracks_[i].thread_order);
    });
    return order;
  }

  void set_depths() {
    std::vector<double> ends;  // of the events around the current one
    uint32_t track = 0;
    for (TraceEvent& event : events_) {
      if (event.track != track) ends.clear();
      track = event.track;
      while (!ends.empty() && ends.back() <= event.begin) ends.pop_back();
      event.depth = static_cast<uint32_t>(std::min<size_t>(ends.size(), 60));
      ends.push_back(event.begin + event.duration);
    }
  }

  template <class Field>
  void append_column(std::string& out, const char* name, const Field& field) const {
    fmt::format_to(std::back_inserter(out), ",\"{}\":[", name);
    for (size_t i = 0; i < events_.size(); ++i) {
      if (i > 0) out += ',';
      append_number(out, field(events_[i]));
    }
    out += ']';
  }

  std::string text(const std::vector<uint32_t>& order) const {
    std::string out = fmt::format("{{\"events\":{},\"cut\":{},\"names\":", events_.size(), cut_);
    out += json_text(names_);
    json tracks = json::array();
    for (const uint32_t i : order) tracks.push_back({tracks_[i].process, tracks_[i].thread});
    out += ",\"tracks\":" + json_text(tracks);
    append_column(out, "track", [](const TraceEvent& e) { return static_cast<double>(e.track); });
    append_column(out, "name", [](const TraceEvent& e) { return static_cast<double>(e.name); });
    append_column(out, "begin", [](const TraceEvent& e) { return e.begin; });
    append_column(out, "duration", [](const TraceEvent& e) { return e.duration; });
    append_column(out, "depth", [](const TraceEvent& e) { return static_cast<double>(e.depth); });
    out += ",\"args\":{";
    bool first = true;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].args.is_null()) continue;
      fmt::format_to(std::back_inserter(out), "{}\"{}\":", first ? "" : ",", i);
      first = false;
      out += json_text(events_[i].args);
    }
    return out + "}}";
  }

  std::map<Key, uint32_t> track_index_;
  std::vector<Track> tracks_;
  std::vector<std::string> track_processes_;
  std::map<std::string, std::string> process_names_;
  std::map<std::string, double> process_orders_;
  absl::flat_hash_map<std::string, size_t, TextHash, std::equal_to<>> name_index_;
  std::vector<std::string> names_;
  std::map<uint32_t, std::vector<size_t>> open_;
  std::vector<TraceEvent> events_;
  size_t args_ = 0;
  size_t cut_ = 0;
};

}  // namespace

std::string read_gzip(FileSystem& file_system, const std::string& path, uint64_t max_bytes) {
  const auto source = open_source(file_system.open(path), Compression::gzip);
  std::string text;
  constexpr size_t kPart = 1U << 20U;
  while (true) {
    const size_t before = text.size();
    text.resize(before + kPart);
    const size_t got = source->read(kPart, text.data() + before);
    text.resize(before + got);
    if (text.size() > max_bytes) {
      throw make_error(Code::resource_exhausted,
                       "{}: contents, got more than {} bytes, expected at most that", path,
                       max_bytes);
    }
    if (got == 0) return text;
  }
}

std::string trace_json(std::string_view text) {
  TraceBuilder builder;
  // Events are taken while parsing, so that the text never becomes one large tree.
  const auto take = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::object_end || depth != 2) return true;
    builder.add(std::move(parsed));
    return false;
  };
  const json rest = json::parse(text, take, /*allow_exceptions=*/false);
  if (!rest.is_object() || !rest.contains("traceEvents")) {
    throw invalid_argument("trace: got no object with 'traceEvents', expected trace-event JSON");
  }
  return builder.finish();
}

}  // namespace systole::board
