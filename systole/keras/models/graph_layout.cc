#include "systole/keras/models/graph_layout.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace systole::keras {
namespace {

constexpr double kGapX = 24;
constexpr double kGapY = 36;
constexpr double kMargin = 12;
constexpr double kWayWidth = 8;  // of an edge that passes a row
constexpr int kSweeps = 8;

// A box, or a place in a row through which a long edge passes.
struct Slot {
  size_t box = SIZE_MAX;
  size_t row = 0;
  double width = kWayWidth;
  double x = 0;  // of its centre
  std::vector<size_t> above;
  std::vector<size_t> below;
};

class LayoutRun {
 public:
  LayoutRun(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges)
      : boxes_(boxes), edges_(edges) {}

  LayoutSize run() {
    make_slots();
    make_ways();
    for (int sweep = 0; sweep < kSweeps; ++sweep) order(sweep % 2 == 0);
    for (int sweep = 0; sweep < kSweeps; ++sweep) place(sweep % 2 == 0);
    return finish();
  }

 private:
  void make_slots() {
    for (size_t i = 0; i < boxes_.size(); ++i) {
      slots_.push_back({.box = i, .width = boxes_[i].width});
    }
    std::vector<const LayoutEdge*> sorted;
    for (const LayoutEdge& edge : edges_) sorted.push_back(&edge);
    std::ranges::sort(sorted, {}, [](const LayoutEdge* edge) { return edge->to; });
    for (const LayoutEdge* const edge : sorted) {
      slots_[edge->to].row = std::max(slots_[edge->to].row, slots_[edge->from].row + 1);
    }
    for (const Slot& slot : slots_) {
      if (slot.row >= rows_.size()) rows_.resize(slot.row + 1);
    }
    for (size_t i = 0; i < slots_.size(); ++i) rows_[slots_[i].row].push_back(i);
  }

  void make_ways() {
    for (const LayoutEdge& edge : edges_) {
      std::vector<size_t> way = {edge.from};
      for (size_t row = slots_[edge.from].row + 1; row < slots_[edge.to].row; ++row) {
        rows_[row].push_back(slots_.size());
        way.push_back(slots_.size());
        slots_.push_back({.row = row});
      }
      way.push_back(edge.to);
      for (size_t i = 1; i < way.size(); ++i) {
        slots_[way[i - 1]].below.push_back(way[i]);
        slots_[way[i]].above.push_back(way[i - 1]);
      }
      ways_.push_back(std::move(way));
    }
    for (auto& row : rows_) spread(row);
  }

  // Side by side, from 0.
  void spread(const std::vector<size_t>& row) {
    double x = 0;
    for (const size_t i : row) {
      slots_[i].x = x + slots_[i].width / 2;
      x += slots_[i].width + kGapX;
    }
  }

  double wanted(const Slot& slot, bool from_above) const {
    const std::vector<size_t>& near = from_above ? slot.above : slot.below;
    if (near.empty()) return slot.x;
    double sum = 0;
    for (const size_t i : near) sum += slots_[i].x;
    return sum / static_cast<double>(near.size());
  }

  void order(bool down) {
    for (size_t r = 0; r < rows_.size(); ++r) {
      std::vector<size_t>& row = rows_[down ? r : rows_.size() - 1 - r];
      std::vector<std::pair<double, size_t>> keys;
      for (const size_t i : row) keys.emplace_back(wanted(slots_[i], down), i);
      std::ranges::stable_sort(keys, {}, &std::pair<double, size_t>::first);
      for (size_t k = 0; k < row.size(); ++k) row[k] = keys[k].second;
      spread(row);
    }
  }

  // Moves the slots of each row towards their neighbours without changing the order: pushes to the
  // right, then to the left, and takes the mean.
  void place(bool down) {
    for (size_t r = 0; r < rows_.size(); ++r) {
      const std::vector<size_t>& row = rows_[down ? r : rows_.size() - 1 - r];
      std::vector<double> want;
      for (const size_t i : row) want.push_back(wanted(slots_[i], down));
      std::vector<double> right = want;
      for (size_t k = 1; k < row.size(); ++k) {
        right[k] = std::max(want[k], right[k - 1] + distance(row[k - 1], row[k]));
      }
      std::vector<double> left = want;
      for (size_t k = row.size(); k-- > 1;) {
        left[k - 1] = std::min(want[k - 1], left[k] - distance(row[k - 1], row[k]));
      }
      for (size_t k = 0; k < row.size(); ++k) slots_[row[k]].x = (right[k] + left[k]) / 2;
    }
  }
  double distance(size_t a, size_t b) const {
    return (slots_[a].width + slots_[b].width) / 2 + kGapX;
  }

  LayoutSize finish() {
    double leftmost = 0;
    double rightmost = 0;
    for (const Slot& slot : slots_) {
      leftmost = std::min(leftmost, slot.x - slot.width / 2);
      rightmost = std::max(rightmost, slot.x + slot.width / 2);
    }
    double y = kMargin;
    std::vector<double> tops;
    std::vector<double> heights;
    for (const auto& row : rows_) {
      double height = 0;
      for (const size_t i : row) {
        if (slots_[i].box != SIZE_MAX) height = std::max(height, boxes_[slots_[i].box].height);
      }
      tops.push_back(y);
      heights.push_back(height);
      y += height + kGapY;
    }
    const double shift = kMargin - leftmost;
    for (const Slot& slot : slots_) {
      if (slot.box == SIZE_MAX) continue;
      boxes_[slot.box].centre = {slot.x + shift, tops[slot.row] + heights[slot.row] / 2};
    }
    for (size_t e = 0; e < edges_.size(); ++e) {
      edges_[e].way = way_points(ways_[e], shift, tops, heights);
    }
    return {rightmost - leftmost + 2 * kMargin, y - kGapY + kMargin};
  }

  std::vector<LayoutPoint> way_points(const std::vector<size_t>& way, double shift,
                                      const std::vector<double>& tops,
                                      const std::vector<double>& heights) const {
    std::vector<LayoutPoint> points;
    for (size_t i = 0; i < way.size(); ++i) {
      const Slot& slot = slots_[way[i]];
      const double x = slot.x + shift;
      const bool box = slot.box != SIZE_MAX;
      const double middle = tops[slot.row] + heights[slot.row] / 2;
      const double half = (box ? boxes_[slot.box].height : heights[slot.row]) / 2;
      if (i > 0) points.push_back({x, middle - half});
      if (i + 1 < way.size()) points.push_back({x, middle + half});
    }
    return points;
  }

  std::vector<LayoutBox>& boxes_;
  std::vector<LayoutEdge>& edges_;
  std::vector<Slot> slots_;
  std::vector<std::vector<size_t>> rows_;
  std::vector<std::vector<size_t>> ways_;  // of edges
};

}  // namespace

LayoutSize lay_out(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges) {
  return LayoutRun(boxes, edges).run();
}

}  // namespace systole::keras
