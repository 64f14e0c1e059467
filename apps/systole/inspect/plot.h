// Draws curves.
#pragma once

#include <string>
#include <vector>

#include "apps/systole/inspect/curves.h"

namespace systole::app {

// Returns an SVG file: a panel for each tag, in the order of `curves`, with a line for each run.
// Values that are not finite are gaps. Long curves keep their peaks.
std::string plot_svg(const std::string& title, const std::vector<Curve>& curves);

// Round numbers that divide [least, most] into about five parts: 1, 2 or 5 times a power of ten.
std::vector<double> axis_ticks(double least, double most);

}  // namespace systole::app
