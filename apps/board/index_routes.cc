// What the page asks for first and again while it is open: runs, tags and the state of loading.
#include <fmt/format.h>

#include <array>
#include <map>
#include <string>
#include <vector>

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

// All runs and tags. With ?since=<generation> of an earlier answer: {"unchanged": true} if nothing
// was added since.
Response answer_index(const Board& board, const Request& request) {
  json result = status_json(board);
  if (request.has("since") &&
      request.param("since") == fmt::format("{}", result["generation"].get<uint64_t>())) {
    result["unchanged"] = true;
    return {.body = json_text(result)};
  }
  std::array<std::map<std::string, RunRanges>, kTagKinds> tags;
  json runs = json::array();
  for (const auto& run : board.logdir().runs()) {
    const auto hold = run->lock();
    runs.push_back(run_json(*run));
    for (const TagData& tag : run->tags()) {
      add_run(tags[static_cast<size_t>(tag.kind)][tag.name], run->id());
    }
  }
  result["run_list"] = std::move(runs);
  for (int kind = 0; kind < kTagKinds; ++kind) {
    json list = json::array();
    for (auto& [name, ranges] : tags[static_cast<size_t>(kind)]) {
      list.push_back(json::array({name, std::move(ranges)}));
    }
    result["tags"][std::string(to_string(static_cast<TagKind>(kind)))] = std::move(list);
  }
  json profiles = json::array();
  for (const auto& [name, directory] : board.logdir().profiles()) profiles.push_back(name);
  result["profiles"] = std::move(profiles);
  return {.body = json_text(result)};
}

}  // namespace

std::vector<Route> index_routes() {
  return {{"/api/status", "GET", answer_status}, {"/api/index", "GET", answer_index}};
}

}  // namespace systole::board
