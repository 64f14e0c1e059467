// Places the boxes of a directed acyclic graph in rows, each below those it reads.
#pragma once

#include <cstddef>
#include <vector>

namespace systole::keras {

struct LayoutPoint {
  double x = 0;
  double y = 0;
};

struct LayoutBox {
  double width = 0;
  double height = 0;
  LayoutPoint centre;  // set by lay_out()
};

struct LayoutEdge {
  size_t from = 0;
  size_t to = 0;
  // From the bottom of one box to the top of the other, past the boxes between; set by lay_out().
  std::vector<LayoutPoint> way;
};

struct LayoutSize {
  double width = 0;
  double height = 0;
};

// Sets the places of boxes and the ways of edges; the origin is the top left corner. Rows are by
// the longest way from a box without inputs; within a row boxes are ordered by the mean place of
// their neighbours. REQUIRES: edges go from a box to a later one. Source: Sugiyama, Tagawa, Toda,
// "Methods for visual understanding of hierarchical system structures", IEEE SMC 11, 1981.
LayoutSize lay_out(std::vector<LayoutBox>& boxes, std::vector<LayoutEdge>& edges);

}  // namespace systole::keras
