#include "apps/board/trace.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <istream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <streambuf>
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

constexpr size_t kMaxEvents = 500'000;
constexpr size_t kMaxTracks = 10'000;
constexpr size_t kMaxArgsBytes = 16U << 20U;   // of all events, as text
constexpr size_t kMaxNamesBytes = 16U << 20U;  // of all names
constexpr size_t kMaxTraceNameBytes = 300;
constexpr size_t kMaxEventBytes = 1U << 20U;
// Deflate cannot do better than 1032.
constexpr uint64_t kMaxRatio = 1000;
constexpr uint64_t kRatioFrom = 32U << 20U;  // contents that are never too many for their file

struct TraceEvent {
  uint32_t track = 0;
  uint32_t name = 0;
  double begin = 0;
  double duration = 0;
  uint32_t depth = 0;
  uint32_t number = 0;  // in the file
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
  // Whether so many events were left out that the others need not be counted.
  bool is_over() const { return cut_ > 3 * kMaxEvents; }

  void add(const json& event) {
    if (!event.is_object()) return;
    const std::string phase = text_of(event, "ph");
    if (phase == "M") {
      add_metadata(event);
    } else if (phase == "X" || phase == "B") {
      add_event(event, phase == "B");
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

  // Events of more tracks than are kept are on the last one.
  uint32_t track_of(const json& event) {
    Key key{text_of(event, "pid"), text_of(event, "tid")};
    if (tracks_.size() >= kMaxTracks && !track_index_.contains(key)) return kMaxTracks - 1;
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
    if (process_names_.size() + process_orders_.size() >= kMaxTracks) return;
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

  uint32_t name_of(const json& event) {
    const std::string name = text_of(event, "name");
    const auto found = name_index_.find(name);
    if (found != name_index_.end()) return found->second;
    name_bytes_ += name.size() + 64;
    const bool fits = name_bytes_ <= kMaxNamesBytes;
    if (!fits && !names_.empty()) return 0;
    name_index_.emplace(name, static_cast<uint32_t>(names_.size()));
    names_.push_back(name);
    return static_cast<uint32_t>(names_.size() - 1);
  }

  void add_event(const json& event, bool open) {
    if (events_.size() >= kMaxEvents) {
      ++cut_;
      return;
    }
    TraceEvent added{.track = track_of(event),
                     .name = name_of(event),
                     .begin = number_of(event, "ts", 0),
                     .duration = std::max(number_of(event, "dur", 0), 0.0)};
    added.number = static_cast<uint32_t>(events_.size());
    if (open) open_[added.track].push_back(added.number);
    const auto args = event.find("args");
    if (args != event.end() && args->is_object() && !args->empty()) {
      std::string text = json_text(*args);
      args_bytes_ += text.size() + 100;
      if (args_bytes_ <= kMaxArgsBytes) args_.emplace(added.number, std::move(text));
    }
    events_.push_back(added);
  }

  void end_event(const json& event) {
    std::vector<uint32_t>& open = open_[track_of(event)];
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
      const auto args = args_.find(events_[i].number);
      if (args == args_.end()) continue;
      fmt::format_to(std::back_inserter(out), "{}\"{}\":", first ? "" : ",", i);
      first = false;
      out += args->second;
    }
    return out + "}}";
  }

  std::map<Key, uint32_t> track_index_;
  std::vector<Track> tracks_;
  std::vector<std::string> track_processes_;
  std::map<std::string, std::string> process_names_;
  std::map<std::string, double> process_orders_;
  absl::flat_hash_map<std::string, uint32_t, TextHash, std::equal_to<>> name_index_;
  std::vector<std::string> names_;
  size_t name_bytes_ = 0;
  std::map<uint32_t, std::vector<uint32_t>> open_;
  std::vector<TraceEvent> events_;
  absl::flat_hash_map<uint32_t, std::string> args_;  // by number
  size_t args_bytes_ = 0;
  size_t cut_ = 0;
};

// Passes the characters of a stream on and counts them.
class CountingBuffer final : public std::streambuf {
 public:
  // `fill` returns how many characters it has read; 0 at the end.
  explicit CountingBuffer(std::function<size_t(char*, size_t)> fill) : fill_(std::move(fill)) {}

  size_t position() const { return before_ + static_cast<size_t>(gptr() - eback()); }
  // Characters after `end` are not there.
  void set_end(size_t end) { end_ = end; }
  bool is_at_end() const { return position() >= end_; }

 protected:
  int_type underflow() override {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    before_ += static_cast<size_t>(egptr() - eback());
    const size_t got = before_ >= end_ ? 0 : fill_(buffer_.data(), buffer_.size());
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_[0]);
  }

 private:
  std::function<size_t(char*, size_t)> fill_;
  std::array<char, 65536> buffer_{};
  size_t before_ = 0;
  size_t end_ = std::numeric_limits<size_t>::max();
};

std::string convert(CountingBuffer& buffer) {
  TraceBuilder builder;
  std::istream text(&buffer);
  buffer.set_end(kMaxEventBytes);
  // Events are taken while parsing, so that the text never becomes one large tree. What is not an
  // event has the place of one.
  const auto take = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::object_end || depth != 2) return true;
    builder.add(parsed);
    buffer.set_end(builder.is_over() ? 0 : buffer.position() + kMaxEventBytes);
    return false;
  };
  const json rest = json::parse(text, take, /*allow_exceptions=*/false);
  if (builder.is_over()) return builder.finish();
  if (buffer.is_at_end()) {
    throw make_error(Code::resource_exhausted,
                     "trace: event, got one of more than {} bytes, expected smaller ones",
                     kMaxEventBytes);
  }
  if (!rest.is_object() || !rest.contains("traceEvents")) {
    throw invalid_argument("trace: got no object with 'traceEvents', expected trace-event JSON");
  }
  return builder.finish();
}

}  // namespace

std::string trace_json(std::string_view text) {
  CountingBuffer buffer([&](char* out, size_t size) {
    const size_t count = text.copy(out, size);
    text.remove_prefix(count);
    return count;
  });
  return convert(buffer);
}

std::string trace_json_of_gzip(FileSystem& file_system, const std::string& path,
                               uint64_t max_bytes) {
  auto file = file_system.open(path);
  const uint64_t most = std::min(max_bytes, std::max(kRatioFrom, kMaxRatio * file->size()));
  const auto source = open_source(std::move(file), Compression::gzip);
  uint64_t bytes = 0;
  std::exception_ptr failed;
  CountingBuffer buffer([&](char* out, size_t size) -> size_t {
    // A stream swallows exceptions.
    try {
      const size_t got = source->read(size, out);
      bytes += got;
      if (bytes <= most) return got;
      throw make_error(Code::resource_exhausted,
                       "{}: contents, got more than {} bytes, expected at most that", path, most);
    } catch (const Error&) {
      failed = std::current_exception();
      return 0;
    }
  });
  std::string result;
  try {
    result = convert(buffer);
  } catch (const Error&) {
    if (!failed) throw;
  }
  if (failed) std::rethrow_exception(failed);
  return result;
}

}  // namespace systole::board
