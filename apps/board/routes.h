// The functions behind the paths. Each returns a response or throws RequestError or Error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/board/board.h"

namespace systole::board {

struct Route {
  std::string_view path;
  std::string_view method;  // "GET"; "POST" for what needs a body
  Response (*answer)(const Board& board, const Request& request);
};

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
