// Views of a series for a chart: smoothed, and reduced without hiding extremes.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "apps/board/scalar_series.h"

namespace systole::board {

struct ChartOptions {
  double x_min = -std::numeric_limits<double>::infinity();
  double x_max = std::numeric_limits<double>::infinity();
  bool log_x = false;
  int buckets = 500;     // usually the width of the chart in pixels
  double smoothing = 0;  // the weight of the past, in [0, 1)
};

// Part of a chart line, in the order of the points. After a restart the points of the earlier part
// that the later part repeats are superseded.
struct ChartSegment {
  size_t begin = 0;             // index into the points of the chart
  int64_t superseded_from = 0;  // steps from here on were repeated later
};

struct ChartPoint {
  double x = 0;
  ScalarPoint point;
  double smoothed = 0;
};

struct Chart {
  std::vector<ChartPoint> points;
  std::vector<ChartSegment> segments;
  bool all = true;  // nothing was left out in [x_min, x_max]
};

// Returns the points with x in [x_min, x_max] and the neighbour on each side. Of each segment and
// bucket it keeps the first, the least, the greatest and the last point, and one that is not
// finite.
//
// The smoothed value is TensorBoard's: last = last * w + (1 - w) * value, divided by 1 - w^n, over
// all points of the segment; values that are not finite are skipped, a constant series is left
// alone. `x_of` returns the position of a point.
Chart make_chart(const ScalarSeries& series, const std::function<double(const ScalarPoint&)>& x_of,
                 const ChartOptions& options);

}  // namespace systole::board
