// What the page asks for first and again while it is open: runs, tags and the state of loading.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "apps/board/board.h"
#include "apps/board/json_text.h"
#include "apps/board/routes.h"

namespace systole::board {
namespace {

using nlohmann::json;

// The ids of the runs that have a tag, as ranges [begin, end, begin, end...].
using RunRanges = std::vector<uint32_t>;

void add_run(RunRanges& ranges, uint32_t id) {
  if (!ranges.empty() && ranges.back() == id) {
    ++ranges.back();
  } else {
    ranges.insert(ranges.end(), {id, id + 1});
  }
}

json status_json(const Board& board) {
  const LogdirStatus status = board.logdir().status();
  return {{"version", SYSTOLE_VERSION},
          {"instance", board.instance()},
          {"logdir", board.logdir().path()},
          {"generation", status.generation},
          {"ready", status.ready},
          {"bytes_read", status.bytes_read},
          {"bytes_total", status.bytes_total},
          {"runs", status.runs},
          {"memory_bytes", status.memory_bytes},
          {"thinned", status.thinned},
          {"full", status.full},
          {"dropped", status.dropped},
          {"problems", status.problems}};
}

Response answer_status(const Board& board, const Request& /*request*/) {
  return {.body = json_text(status_json(board))};
}

const TagData* scalar_tag(const Run& run, std::string_view name) {
  const TagData* const tag = run.find_tag(name, TagKind::scalars);
  return tag == nullptr || tag->scalars.empty() ? nullptr : tag;
}

// The speed figures that the training loop writes, and where it is going.
json run_state(const Run& run, const std::map<std::string, Hparam>& hparams) {
  json state = json::object();
  constexpr std::array<std::array<std::string_view, 2>, 4> kTags = {{
      {"steps_per_second", "global_step/sec"},
      {"examples_per_second", "examples/sec"},
      {"input_wait", "input_wait"},
      {"loss", "loss"},
  }};
  for (const auto& [name, tag_name] : kTags) {
    const TagData* const tag = scalar_tag(run, tag_name);
    if (tag == nullptr) continue;
    state[std::string(name)] = json_number(tag->scalars.back().value);
    state["step"] = tag->scalars.back().step;
  }
  constexpr std::array<std::string_view, 6> kTotals = {"max_steps",          "train.max_steps",
                                                       "train_steps",        "train.steps",
                                                       "training.max_steps", "total_steps"};
  for (const std::string_view total : kTotals) {
    const auto found = hparams.find(std::string(total));
    if (found == hparams.end() || found->second.kind != Hparam::Kind::number) continue;
    state["max_steps"] = found->second.number;
    break;
  }
  return state;
}

json run_json(const Run& run) {
  const RunFacts& facts = run.facts();
  const std::map<std::string, Hparam> hparams = run.hparams();
  return {{"name", run.name()},
          {"start", json_number(facts.first_wall_time)},
          {"last", json_number(facts.last_wall_time)},
          {"step", facts.last_step},
          {"events", facts.events},
          {"restarts", facts.restarts},
          {"damaged", facts.damaged_records},
          {"graph", facts.graph.has_value()},
          {"hparams", hparams.size()},
          {"problems", facts.problems},
          {"state", run_state(run, hparams)}};
}

constexpr size_t kMaxIndexPart = 4U << 20U;  // of runs, of tags, and of profiles

// Tags by kind and name, with the runs that have them, as far as there is space for their names.
class TagTable {
 public:
  void add(const TagData& tag, uint32_t run) {
    auto& names = tags_[static_cast<size_t>(tag.kind)];
    auto found = names.find(tag.name);
    if (found == names.end()) {
      if (!take(tag.name.size() + 100)) return;
      found = names.emplace(tag.name, RunRanges()).first;
    }
    RunRanges& ranges = found->second;
    if ((ranges.empty() || ranges.back() != run) && !take(16)) return;
    add_run(ranges, run);
  }

  // Values that are not in the table.
  uint64_t left_out() const { return left_out_; }

  void append_to(std::string& out) const {
    out += '{';
    for (int kind = 0; kind < kTagKinds; ++kind) {
      if (kind > 0) out += ',';
      append_string(out, to_string(static_cast<TagKind>(kind)));
      out += ":[";
      bool first = true;
      for (const auto& [name, ranges] : tags_[static_cast<size_t>(kind)]) {
        out += first ? "[" : ",[";
        first = false;
        append_string(out, name);
        out += ",[";
        for (size_t i = 0; i < ranges.size(); ++i) {
          fmt::format_to(std::back_inserter(out), "{}{}", i > 0 ? "," : "", ranges[i]);
        }
        out += "]]";
      }
      out += ']';
    }
    out += '}';
  }

 private:
  bool take(size_t bytes) {
    if (bytes_ + bytes > kMaxIndexPart) {
      ++left_out_;
      return false;
    }
    bytes_ += bytes;
    return true;
  }

  std::array<std::map<std::string, RunRanges>, kTagKinds> tags_;
  size_t bytes_ = 0;
  uint64_t left_out_ = 0;
};

// Adds an element to the text of a list, unless the list is long enough. Returns whether it did.
bool append_element(std::string& list, const std::string& element) {
  if (list.size() + element.size() > kMaxIndexPart) return false;
  if (!list.empty()) list += ',';
  list += element;
  return true;
}

// All runs and tags, as far as they fit: "left_out" counts the others. With ?since=<generation> of
// an earlier answer: {"unchanged": true} if nothing was added since.
Response answer_index(const Board& board, const Request& request) {
  json result = status_json(board);
  if (request.has("since") &&
      request.param("since") == fmt::format("{}", result["generation"].get<uint64_t>())) {
    result["unchanged"] = true;
    return {.body = json_text(result)};
  }
  TagTable tags;
  std::string runs;
  std::string profiles;
  uint64_t left_out = 0;
  for (const auto& run : board.logdir().runs()) {
    const auto hold = run->lock();
    if (!append_element(runs, json_text(run_json(*run)))) {
      ++left_out;
      continue;
    }
    for (const TagData& tag : run->tags()) tags.add(tag, run->id());
  }
  for (const auto& [name, directory] : board.logdir().profiles()) {
    if (!append_element(profiles, json_text(name))) ++left_out;
  }
  result["left_out"] = left_out + tags.left_out();
  std::string body = json_text(result);
  body.back() = ',';
  body += "\"run_list\":[" + runs + "],\"profiles\":[" + profiles + "],\"tags\":";
  tags.append_to(body);
  body += '}';
  return {.body = std::move(body)};
}

}  // namespace

std::vector<Route> index_routes() {
  return {{"/api/status", "GET", answer_status, Work::quick},
          {"/api/index", "GET", answer_index, Work::medium}};
}

}  // namespace systole::board
