// The functions behind the paths. Each returns a response or throws RequestError or Error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/board/http.h"
#include "apps/board/run.h"

namespace systole::board {

class Board;

// What an answer may cost. The server bounds how many of each kind are made at once, so that the
// memory of all of them is bounded.
enum class Work : uint8_t {
  quick,   // at most 1 MiB
  medium,  // at most kMaxMediumBytes of text
  heavy,   // may need 150 MiB while it is made
};
inline constexpr size_t kMaxMediumBytes = 12U << 20U;
inline constexpr size_t kMaxHeavyBytes = 32U << 20U;

struct Route {
  std::string_view path;
  std::string_view method;  // "GET"; "POST" for what needs a body
  Response (*answer)(const Board& board, const Request& request);
  Work work = Work::heavy;
};

// Returns the kind of work of a decoded path.
Work work_of(std::string_view path);

// Errors: 413 for text that has become longer than `most`.
void check_size(size_t bytes, size_t most);

// The routes of each file.
std::vector<Route> index_routes();
std::vector<Route> scalar_routes();
std::vector<Route> graph_routes();
std::vector<Route> hparam_routes();
std::vector<Route> profile_routes();
std::vector<Route> tensorboard_routes();

// Returns the paths of all routes with the method POST.
std::vector<std::string> post_paths();

// Helpers of the routes.

// Returns the run of the parameter `run`: its name. Errors: 400 without the parameter, 404 for an
// unknown name.
std::shared_ptr<Run> run_of(const Board& board, const Request& request);
// Returns the value of a parameter. Errors: 400 without it.
std::string required_param(const Request& request, const std::string& name);
// Returns the tag of the parameter `tag`. Hold the lock of the run. Errors: 400, 404.
const TagData& tag_of(const Run& run, const Request& request, TagKind kind);

// An asset of the page.
struct Asset {
  std::string_view path;  // "/board.js"
  std::string_view content_type;
  std::string_view contents;
};
// Returns all assets; "/" is the page. Generated from the folder web.
const std::vector<Asset>& assets();

}  // namespace systole::board
