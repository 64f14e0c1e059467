// Requests and responses, independent of the HTTP library.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace systole::board {

struct Request {
  std::string method;  // "GET"
  std::string path;    // decoded, without the query
  std::multimap<std::string, std::string> params;
  std::string host;    // the header Host
  std::string cookie;  // the header Cookie
  std::string body;

  // Returns the first value of a parameter; "" if there is none.
  std::string param(const std::string& name) const {
    const auto found = params.find(name);
    return found == params.end() ? "" : found->second;
  }
  bool has(const std::string& name) const { return params.contains(name); }
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

}  // namespace systole::board
