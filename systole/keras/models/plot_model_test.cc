#include "systole/keras/models/plot_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/graph.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/keras.h"
#include "systole/keras/models/graph_layout.h"

namespace systole::keras {
namespace {

using ::testing::HasSubstr;

size_t times_in(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class PlotModelTest : public ::testing::Test {
 protected:
  PlotModelTest() : scope_(graph_) {}
  Graph graph_;
  GraphScope scope_;
};

TEST_F(PlotModelTest, DrawsABoxALayerAndAnEdgeAConnection) {
  const KerasTensor a = Input({4}, {.name = "left"});
  const KerasTensor b = Input({4}, {.name = "right"});
  const layers::Dense shared(3, {.name = "both"});
  const Model model({a, b}, {layers::Dense(2, {.name = "one"})(shared(a)),
                             layers::Dense(1, {.name = "two"})(shared(b))});
  const std::string svg = model_svg(model, {.show_shapes = true});
  EXPECT_EQ(times_in(svg, "rx=\"3\"/>"), 5U);
  EXPECT_EQ(times_in(svg, "<path d="), 4U);
  EXPECT_THAT(svg, HasSubstr(">left: InputLayer</text>"));
  EXPECT_THAT(svg, HasSubstr(">output: (None, 3)</text>"));
  EXPECT_THAT(model_svg(model, {.show_layer_names = false}), HasSubstr(">InputLayer</text>"));

  plot_model(model, {.to_file = "mem://plot_model_test.svg"});
  EXPECT_EQ(read_file(default_file_system(), "mem://plot_model_test.svg"), model_svg(model));
  EXPECT_THAT(systole::testing::error_of([&] { plot_model(model, {.to_file = "model.png"}); }),
              HasSubstr("expected a name that ends in .svg"));
  EXPECT_THAT(systole::testing::error_of([] { model_svg(Sequential()); }),
              HasSubstr("does not know the shape of its input"));
}

// A ladder with long edges: no boxes overlap, edges go down and pass no box.
TEST(GraphLayout, BoxesDoNotOverlapAndEdgesGoAroundThem) {
  constexpr size_t kCount = 30;
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
  for (size_t i = 0; i < kCount; ++i) {
    boxes.push_back({.width = 60.0 + 7.0 * static_cast<double>(i % 5), .height = 30});
    for (const size_t step : {size_t{1}, size_t{3}, size_t{7}}) {
      if (i >= step && (i * step) % 4 != 2) edges.push_back({.from = i - step, .to = i});
    }
  }
  const LayoutSize size = lay_out(boxes, edges);
  const auto left = [](const LayoutBox& b) { return b.centre.x - b.width / 2; };
  const auto right = [](const LayoutBox& b) { return b.centre.x + b.width / 2; };
  const auto top = [](const LayoutBox& b) { return b.centre.y - b.height / 2; };
  const auto bottom = [](const LayoutBox& b) { return b.centre.y + b.height / 2; };
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_GE(left(boxes[i]), 0);
    EXPECT_LE(right(boxes[i]), size.width);
    EXPECT_LE(bottom(boxes[i]), size.height);
    for (size_t k = i + 1; k < kCount; ++k) {
      EXPECT_TRUE(right(boxes[i]) <= left(boxes[k]) || right(boxes[k]) <= left(boxes[i]) ||
                  bottom(boxes[i]) <= top(boxes[k]) || bottom(boxes[k]) <= top(boxes[i]))
          << i << " " << k;
    }
  }
  for (const LayoutEdge& edge : edges) {
    EXPECT_DOUBLE_EQ(edge.way.front().y, bottom(boxes[edge.from]));
    EXPECT_DOUBLE_EQ(edge.way.back().y, top(boxes[edge.to]));
    for (size_t i = 1; i < edge.way.size(); ++i) EXPECT_GE(edge.way[i].y, edge.way[i - 1].y);
    for (size_t i = 1; i + 1 < edge.way.size(); ++i) {
      for (const LayoutBox& box : boxes) {
        const LayoutPoint& p = edge.way[i];
        EXPECT_FALSE(p.x > left(box) && p.x < right(box) && p.y > top(box) && p.y < bottom(box));
      }
    }
  }
}

}  // namespace
}  // namespace systole::keras
