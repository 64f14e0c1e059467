#include "systole/base/color.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "systole/base/environment.h"

namespace systole {
namespace {

std::atomic<ColorMode> color_mode{ColorMode::automatic};

}  // namespace

void set_color_mode(ColorMode mode) { color_mode = mode; }

bool uses_color(std::FILE* file) {
  const ColorMode mode = color_mode;
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  return environment_value("NO_COLOR").empty() && environment_value("TERM") != "dumb" &&
         ::isatty(::fileno(file)) != 0;
}

std::string styled(Style style, std::string_view text, std::FILE* file) {
  constexpr std::array kCodes = {"1", "31", "33"};
  if (!uses_color(file)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes.at(static_cast<size_t>(style)), text);
}

}  // namespace systole
