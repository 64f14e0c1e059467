#include "apps/board/board.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <random>
#include <utility>

#include "apps/board/blobs.h"
#include "apps/board/json_text.h"
#include "apps/board/names.h"
#include "apps/board/routes.h"
#include "systole/base/error.h"
#include "systole/io/wire/crypto.h"

namespace systole::board {
namespace {

constexpr std::string_view kCookie = "systole_board_token";

std::string random_text() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

Response error_response(int status, std::string_view message) {
  return {.status = status, .body = json_text({{"error", safe_text(message, 2000)}})};
}

int status_of(Code code) {
  switch (code) {
    case Code::not_found:
      return 404;
    case Code::invalid_argument:
    case Code::out_of_range:
      return 400;
    case Code::data_loss:
      return 410;
    case Code::resource_exhausted:
      return 413;
    default:
      return 500;
  }
}

// Compares in a time that does not depend on where the texts differ.
bool equal_secrets(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

// Returns the value of a cookie.
std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view cookie = cookies.substr(0, end);
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    if (cookie.starts_with(name) && cookie.substr(name.size()).starts_with('=')) {
      return cookie.substr(name.size() + 1);
    }
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return "";
}

const std::map<std::string_view, Route>& all_routes() {
  static const auto routes = [] {
    std::map<std::string_view, Route> table;
    for (const auto& part : {index_routes(), scalar_routes(), blob_routes(), graph_routes(),
                             hparam_routes(), profile_routes(), tensorboard_routes()}) {
      for (const Route& route : part) table.emplace(route.path, route);
    }
    return table;
  }();
  return routes;
}

const Asset* find_asset(std::string_view path) {
  const auto found = std::ranges::find(assets(), path, &Asset::path);
  return found == assets().end() ? nullptr : &*found;
}

// index.html with board.css inlined: the browser can paint it without a second request.
struct Page {
  std::string text;
  std::string policy;  // Content-Security-Policy: allows this inline style by its hash
};

const Page& page() {
  static const Page page = [] {
    constexpr std::string_view kLink = R"(<link rel="stylesheet" href="board.css">)";
    const std::string style(find_asset("/board.css")->contents);
    std::string text(find_asset("/")->contents);
    text.replace(text.find(kLink), kLink.size(), "<style>" + style + "</style>");
    return Page{std::move(text),
                fmt::format("default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{}'; "
                            "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; "
                            "form-action 'none'; frame-ancestors 'none'",
                            crypto::base64(crypto::sha256(style)))};
  }();
  return page;
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& safety_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers = {
      {"Content-Security-Policy", page().policy},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cache-Control", "no-store"}};
  return headers;
}

Board::Board(Logdir& logdir, BoardOptions options)
    : logdir_(logdir), options_(std::move(options)), instance_(random_text()) {}

bool Board::is_host_allowed(std::string_view host) const {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    host = host.substr(0, colon);
  }
  return std::ranges::find(options_.hosts, host) != options_.hosts.end();
}

bool Board::has_token(const Request& request) const {
  return equal_secrets(request.param("token"), options_.token) ||
         equal_secrets(cookie_value(request.cookie, kCookie), options_.token);
}

Response Board::handle(const Request& request) const {
  Response response;
  try {
    response = route(request);
  } catch (const RequestError& error) {
    response = error_response(error.status, error.message);
  } catch (const Error& error) {
    response = error_response(status_of(error.code()), error.what());
  } catch (const std::exception& error) {
    response = error_response(500, error.what());
  }
  const auto& headers = safety_headers();
  response.headers.insert(response.headers.end(), headers.begin(), headers.end());
  return response;
}

Response Board::route(const Request& request) const {
  if (!options_.token.empty()) {
    if (!has_token(request)) {
      return error_response(401, "The address needs ?token=..., as `systole board` printed it.");
    }
  } else if (!is_host_allowed(request.host)) {
    return error_response(
        403, fmt::format("Host '{}' is not a name of this server.", safe_text(request.host, 100)));
  }
  if (request.body.size() > options_.max_body_bytes) {
    return error_response(413, "The body of the request is too large.");
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (const Asset* asset = reads ? find_asset(request.path) : nullptr) {
    Response response{.content_type = std::string(asset->content_type),
                      .body = request.path == "/" ? page().text : std::string(asset->contents)};
    if (!options_.token.empty() && request.has("token")) {
      response.headers.emplace_back(
          "Set-Cookie",
          fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", kCookie, options_.token));
    }
    return response;
  }
  const auto found = all_routes().find(request.path);
  if (found == all_routes().end()) return error_response(404, "There is nothing at this path.");
  if (request.method != found->second.method && !(reads && found->second.method == "GET")) {
    return error_response(405, fmt::format("This path takes {}.", found->second.method));
  }
  return found->second.answer(*this, request);
}

Work work_of(std::string_view path) {
  const auto found = all_routes().find(path);
  return found == all_routes().end() ? Work::quick : found->second.work;
}

void check_size(size_t bytes, size_t most) {
  if (bytes <= most) return;
  throw RequestError{413,
                     fmt::format("The answer is larger than {} bytes: ask for less of it.", most)};
}

std::vector<std::string> post_paths() {
  std::vector<std::string> paths;
  for (const auto& [path, route] : all_routes()) {
    if (route.method == "POST") paths.emplace_back(path);
  }
  return paths;
}

std::string required_param(const Request& request, const std::string& name) {
  if (!request.has(name)) {
    throw RequestError{400, fmt::format("The parameter '{}' is missing.", name)};
  }
  return request.param(name);
}

std::shared_ptr<Run> run_of(const Board& board, const Request& request) {
  const std::string name = required_param(request, "run");
  std::shared_ptr<Run> run = board.logdir().find_run(name);
  if (!run) throw RequestError{404, fmt::format("There is no run '{}'.", safe_text(name, 200))};
  return run;
}

const TagData& tag_of(const Run& run, const Request& request, TagKind kind) {
  const std::string name = required_param(request, "tag");
  const TagData* const tag = run.find_tag(name, kind);
  if (tag == nullptr) {
    throw RequestError{404, fmt::format("Run '{}' has no {} with the tag '{}'.", run.name(),
                                        to_string(kind), safe_text(name, 200))};
  }
  return *tag;
}

}  // namespace systole::board
