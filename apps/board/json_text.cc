#include "apps/board/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace systole::board {
namespace {

std::string_view not_finite(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

}  // namespace

void append_number(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += '"';
    out += not_finite(value);
    out += '"';
  }
}

void append_string(std::string& out, std::string_view text) {
  out += json_text(nlohmann::json(text));
}

nlohmann::json json_number(double value) {
  if (std::isfinite(value)) return value;
  return std::string(not_finite(value));
}

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

}  // namespace systole::board
