#include "systole/keras/models/plot_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "systole/base/testing/error_of.h"
#include "systole/graph/core/graph.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::testing::AllOf;
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

TEST_F(PlotModelTest, WritesANodeALayerAndAnEdgeAConnection) {
  const KerasTensor a = Input({4}, {.name = "left"});
  const KerasTensor b = Input({4}, {.name = "right"});
  const layers::Dense shared(3, {.name = "both"});
  const Model model({a, b}, {layers::Dense(2, {.name = "one"})(shared(a)),
                             layers::Dense(1, {.name = "two"})(shared(b))});
  const std::string dot = model_to_dot(model, {.show_shapes = true});
  EXPECT_EQ(times_in(dot, "[label="), 5U);
  EXPECT_EQ(times_in(dot, " -> "), 4U);
  EXPECT_THAT(dot, HasSubstr("left: InputLayer|{input:|output:}|{{(None, 4)}|{(None, 4)}}"));
  EXPECT_THAT(model_to_dot(model, {.show_layer_names = false}), HasSubstr("\"InputLayer\""));

  plot_model(model, {.to_file = "mem://plot_model_test.dot"});
  EXPECT_EQ(read_file(default_file_system(), "mem://plot_model_test.dot"), model_to_dot(model));
  EXPECT_THAT(systole::testing::error_of([&] { plot_model(model, {.to_file = "model.gif"}); }),
              HasSubstr("expected a name that ends in .png"));
  EXPECT_THAT(systole::testing::error_of([] { model_to_dot(Sequential()); }),
              HasSubstr("does not know the shape of its input"));
}

TEST_F(PlotModelTest, GraphvizDrawsIt) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "no `dot`";
  const KerasTensor x = Input({4}, {.name = "a<|>b"});
  const Model model(x, layers::Dense(2, {.name = "one"})(x));
  plot_model(model, {.to_file = "mem://plot_model_test.svg", .show_shapes = true});
  EXPECT_THAT(read_file(default_file_system(), "mem://plot_model_test.svg"),
              AllOf(HasSubstr("a&lt;|&gt;b: InputLayer"), HasSubstr("(None, 2)")));
}

}  // namespace
}  // namespace systole::keras
