// Profiles: the files of plugins/profile/<run>. Their names are <host>.<tool>, such as
// machine.op_profile.json.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apps/board/board.h"
#include "apps/board/json_text.h"
#include "apps/board/names.h"
#include "apps/board/routes.h"
#include "apps/board/trace.h"

namespace systole::board {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxPageBytes = kMaxHeavyBytes;
constexpr uint64_t kMaxTraceTextBytes = 512U << 20U;

// The folder of the parameter `profile`. Errors: 400, 404.
std::string profile_folder(const Board& board, const Request& request) {
  const std::string name = required_param(request, "profile");
  const auto profiles = board.logdir().profiles();
  const auto found = profiles.find(name);
  if (found == profiles.end()) {
    throw RequestError{404, fmt::format("There is no profile '{}'.", safe_text(name, 200))};
  }
  return found->second;
}

// The path of a file of the profile, whose name list() returned: a request cannot name another.
std::string profile_file(const Board& board, const Request& request, std::string_view suffix) {
  const std::string folder = profile_folder(board, request);
  const std::string name = required_param(request, "file");
  const std::vector<std::string> names = board.logdir().file_system().list(folder);
  if (std::ranges::find(names, name) == names.end() || !name.ends_with(suffix)) {
    throw RequestError{404, fmt::format("The profile has no file '{}'.", safe_text(name, 200))};
  }
  std::string path = join_path(folder, name);
  if (!board.logdir().is_inside(path)) {
    throw RequestError{404, fmt::format("'{}' leads out of the log directory.", name)};
  }
  return path;
}

std::string read_limited(FileSystem& files, const std::string& path, uint64_t most) {
  const auto file = files.open(path);
  const uint64_t size = file->size();
  if (size > most) {
    throw RequestError{413, fmt::format("{}: {} bytes, expected at most {}.", path, size, most)};
  }
  return read_file(*file);
}

// {"files": ["machine.op_profile.json", ...]}
Response answer_profile(const Board& board, const Request& request) {
  json files = json::array();
  for (const std::string& name :
       board.logdir().file_system().list(profile_folder(board, request))) {
    files.push_back(safe_text(name, 1000));
  }
  return {.body = json_text({{"files", std::move(files)}})};
}

// A page as it is in the file, once it is known to be JSON.
Response answer_page(const Board& board, const Request& request) {
  const std::string path = profile_file(board, request, ".json");
  std::string text = read_limited(board.logdir().file_system(), path, kMaxPageBytes);
  if (!json::accept(text)) {
    throw RequestError{422, fmt::format("{} is not valid JSON.", path)};
  }
  return {.body = std::move(text)};
}

Response answer_trace(const Board& board, const Request& request) {
  const std::string path = profile_file(board, request, ".json.gz");
  return {.body = trace_json_of_gzip(board.logdir().file_system(), path, kMaxTraceTextBytes)};
}

}  // namespace

std::vector<Route> profile_routes() {
  return {{"/api/profile", "GET", answer_profile},
          {"/api/profile_page", "GET", answer_page},
          {"/api/profile_trace", "GET", answer_trace}};
}

}  // namespace systole::board
