// Curves as a picture.
#pragma once

#include <string>
#include <vector>

#include "apps/systole/inspect/curves.h"

namespace systole::app {

// An SVG file: a panel for each tag, in the order in which they come, with a line for each run.
// Values that are not finite are gaps. Long curves keep their peaks.
std::string plot_svg(const std::string& title, const std::vector<Curve>& curves);

// Round numbers that part [least, most] into about five; from 1, 2 and 5 times powers of ten.
std::vector<double> axis_ticks(double least, double most);

}  // namespace systole::app
