#include "apps/board/downsample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace systole::board {
namespace {

// More segments than this are one line, sorted by step: several writers, or a damaged file.
constexpr size_t kMaxSegments = 200;
// Points of such a line: of more than this, evenly spread ones.
constexpr size_t kMaxSorted = 1'000'000;

// TensorBoard's smoothing, a debiased exponential moving average.
class Smoother {
 public:
  Smoother(double weight, bool constant)
      : weight_(constant ? 0 : std::clamp(weight, 0.0, 0.9999)) {}

  double next(double value) {
    if (weight_ == 0 || !std::isfinite(value)) return value;
    last_ = last_ * weight_ + (1 - weight_) * value;
    debias_ *= weight_;
    return last_ / (1 - debias_);
  }

 private:
  double weight_;
  double last_ = 0;
  double debias_ = 1;
};

// Collects the points of one bucket.
class Bucket {
 public:
  void add(size_t index, const ChartPoint& point) {
    if (count_++ == 0) first_ = {index, point};
    last_ = {index, point};
    if (!std::isfinite(point.point.value)) {
      if (!not_finite_) not_finite_ = {index, point};
      return;
    }
    if (!least_ || point.point.value < least_->point.point.value) least_ = {index, point};
    if (!most_ || point.point.value > most_->point.point.value) most_ = {index, point};
  }

  // Appends the points that represent the bucket and empties it. Returns whether some are missing.
  bool flush(std::vector<ChartPoint>& out) {
    if (count_ == 0) return false;
    std::array<std::optional<Item>, 5> items = {first_, least_, most_, not_finite_, last_};
    std::ranges::sort(items, {}, [](const std::optional<Item>& item) {
      return item ? item->index : std::numeric_limits<size_t>::max();
    });
    size_t kept = 0;
    size_t before = std::numeric_limits<size_t>::max();
    for (const auto& item : items) {
      if (!item || item->index == before) continue;
      before = item->index;
      out.push_back(item->point);
      ++kept;
    }
    const bool missing = kept < count_;
    *this = {};
    return missing;
  }

 private:
  struct Item {
    size_t index;
    ChartPoint point;
  };
  size_t count_ = 0;
  std::optional<Item> first_, least_, most_, not_finite_, last_;
};

class ChartMaker {
 public:
  ChartMaker(const ChartOptions& options, const std::function<double(const ScalarPoint&)>& x_of)
      : options_(options), x_of_(x_of), buckets_(options.buckets) {}

  // Spreads the buckets of four segments over more than that: segments overlap in x.
  void limit_buckets(size_t segments) {
    constexpr int kMin = 50;
    constexpr int kFull = 4;
    if (segments <= kFull) return;
    buckets_ = std::min(buckets_, std::max(kMin, buckets_ * kFull / static_cast<int>(segments)));
  }

  // Adds a segment of `count` points; `at(i)` returns a point.
  template <class At>
  void add_segment(size_t count, const At& at) {
    if (count == 0) return;
    chart_.segments.push_back(
        {.begin = chart_.points.size(), .superseded_from = std::numeric_limits<int64_t>::max()});
    bool constant = true;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (size_t i = 0; i < count; ++i) {
      const ScalarPoint& point = at(i);
      constant = constant && point.value == at(0).value;
      const double x = x_of_(point);
      if (!in_range(x)) continue;
      low = std::min(low, scaled(x));
      high = std::max(high, scaled(x));
    }
    add_points(count, at, constant, low, high);
  }

  Chart take() { return std::move(chart_); }

 private:
  bool in_range(double x) const {
    return x >= options_.x_min && x <= options_.x_max && (!options_.log_x || x > 0);
  }
  double scaled(double x) const { return options_.log_x ? std::log10(x) : x; }

  template <class At>
  void add_points(size_t count, const At& at, bool constant, double low, double high) {
    Smoother smoother(options_.smoothing, constant);
    const double buckets = std::max(buckets_, 1);
    const double scale = high > low ? buckets / (high - low) : 0;
    std::optional<ChartPoint> outside;  // the neighbour before the range
    bool after = false;
    Bucket bucket;
    double current = -1;
    for (size_t i = 0; i < count; ++i) {
      const ScalarPoint& point = at(i);
      const ChartPoint shown{
          .x = x_of_(point), .point = point, .smoothed = smoother.next(point.value)};
      if (!in_range(shown.x)) {
        if (!after && shown.x > options_.x_max && (current >= 0 || outside)) {
          flush(bucket);
          if (current < 0) chart_.points.push_back(*outside);
          chart_.points.push_back(shown);
          after = true;
        } else if (shown.x < options_.x_min) {
          outside = shown;
        }
        continue;
      }
      const double number = std::floor((scaled(shown.x) - low) * scale);
      if (number != current) {
        flush(bucket);
        if (current < 0 && outside) chart_.points.push_back(*outside);
        current = number;
      }
      bucket.add(i, shown);
    }
    flush(bucket);
  }

  void flush(Bucket& bucket) {
    if (bucket.flush(chart_.points)) chart_.all = false;
  }

  const ChartOptions& options_;
  const std::function<double(const ScalarPoint&)>& x_of_;
  int buckets_;
  Chart chart_;
};

// Sets what each segment has of steps that a later one repeats.
void mark_superseded(const ScalarSeries& series, Chart& chart) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t s = chart.segments.size(); s-- > 0;) {
    chart.segments[s].superseded_from = least;
    least = std::min(least, series[series.segments()[s]].step);
  }
}

}  // namespace

Chart make_chart(const ScalarSeries& series, const std::function<double(const ScalarPoint&)>& x_of,
                 const ChartOptions& options) {
  ChartMaker maker(options, x_of);
  const std::vector<size_t>& starts = series.segments();
  if (starts.size() > kMaxSegments) {
    const size_t stride = series.size() / kMaxSorted + 1;
    std::vector<size_t> order;
    for (size_t i = 0; i < series.size(); i += stride) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return series[i].step; });
    maker.add_segment(order.size(),
                      [&](size_t i) -> const ScalarPoint& { return series[order[i]]; });
    return maker.take();
  }
  maker.limit_buckets(starts.size());
  for (size_t s = 0; s < starts.size(); ++s) {
    const size_t begin = starts[s];
    const size_t end = s + 1 < starts.size() ? starts[s + 1] : series.size();
    maker.add_segment(end - begin,
                      [&](size_t i) -> const ScalarPoint& { return series[begin + i]; });
  }
  Chart chart = maker.take();
  mark_superseded(series, chart);
  return chart;
}

}  // namespace systole::board
