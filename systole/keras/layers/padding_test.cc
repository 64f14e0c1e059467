#include "systole/keras/layers/padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"
#include "systole/keras/testing/grid.h"

namespace systole::keras {
namespace {

using namespace keras::testing;  // NOLINT(google-build-using-namespace): the reference
using systole::testing::error_of;
using ::testing::HasSubstr;

Layer resizing_layer(const std::string& name, const Json& config) {
  return Layer(find_layer_class(name).from_config(config));
}

// The result of size `size` whose element at a place is the input's at source(place), 0 outside.
Grid taken(const Grid& x, const Place& size, const std::function<Place(const Place&)>& source) {
  Grid y(x.batch, size, x.channels);
  for (int64_t b = 0; b < x.batch; ++b) {
    for_each_place(size, [&](const Place& at) {
      for (int64_t c = 0; c < x.channels; ++c) y.at(b, at, c) = x.at_or_0(b, source(at), c);
    });
  }
  return y;
}

void check_resizing(const std::string& name, Json config, int rank, const Grid& x, const Grid& y) {
  for (const bool channels_first : {false, true}) {
    if (channels_first && rank == 1) continue;
    if (rank > 1) config["data_format"] = channels_first ? "channels_first" : "channels_last";
    SCOPED_TRACE(name + config.dump());
    const Tensor in = tensor_of(x, rank, channels_first);
    const KerasTensor input = Input(Shape(Dims(in.shape().begin() + 1, in.shape().end())));
    const Model model(input, resizing_layer(name, config)(input));
    expect_near(model.predict(in), tensor_of(y, rank, channels_first));
  }
}

// Sizes of `rank` axes and a batch of them.
Grid small_grid(int rank) {
  Place size = {3, 4, 5};
  for (int i = 0; i < 3 - rank; ++i) size[i] = 1;
  return grid_of(noise({2, size[0], size[1], size[2], 3}, 5), false);
}

// Pairs for the last axes, as JSON for a layer.
Json pairs_json(const std::array<std::pair<int64_t, int64_t>, 3>& ends, int rank) {
  Json list = Json::array();
  for (size_t i = 3 - static_cast<size_t>(rank); i < 3; ++i) {
    list.push_back({ends[i].first, ends[i].second});
  }
  return rank == 1 ? Json(list[0]) : list;
}

TEST(PaddingTest, ZerosAroundAndEndsCutOff) {
  const std::array<std::pair<int64_t, int64_t>, 3> all_ends[] = {{{{1, 0}, {2, 1}, {0, 3}}},
                                                                 {{{0, 1}, {0, 0}, {1, 1}}}};
  for (const int rank : {1, 2, 3}) {
    for (auto ends : all_ends) {
      for (size_t i = 0; i < 3 - static_cast<size_t>(rank); ++i) ends[i] = {0, 0};
      const Grid x = small_grid(rank);
      Place larger = x.size;
      Place smaller = x.size;
      for (size_t i = 0; i < 3; ++i) {
        larger[i] += ends[i].first + ends[i].second;
        smaller[i] -= ends[i].first + ends[i].second;
      }
      const auto moved = [&](const Place& at, int64_t sign) {
        Place from = at;
        for (size_t i = 0; i < 3; ++i) from[i] += sign * ends[i].first;
        return from;
      };
      check_resizing(fmt::format("ZeroPadding{}D", rank), {{"padding", pairs_json(ends, rank)}},
                     rank, x, taken(x, larger, [&](const Place& at) { return moved(at, -1); }));
      check_resizing(fmt::format("Cropping{}D", rank), {{"cropping", pairs_json(ends, rank)}}, rank,
                     x, taken(x, smaller, [&](const Place& at) { return moved(at, 1); }));
    }
  }
}

TEST(PaddingTest, UpSamplingRepeats) {
  for (const int rank : {1, 2, 3}) {
    for (const Place& size : {Place{2, 2, 2}, Place{1, 3, 2}, Place{2, 1, 1}}) {
      const Grid x = small_grid(rank);
      Place times = size;
      Place larger = x.size;
      for (size_t i = 0; i < 3; ++i) {
        if (i + static_cast<size_t>(rank) < 3) times[i] = 1;
        larger[i] *= times[i];
      }
      const auto source = [&](const Place& at) {
        return Place{at[0] / times[0], at[1] / times[1], at[2] / times[2]};
      };
      const Json of_axes = std::vector<int64_t>(times.end() - rank, times.end());
      check_resizing(fmt::format("UpSampling{}D", rank),
                     {{"size", rank == 1 ? Json(times[2]) : of_axes}}, rank, x,
                     taken(x, larger, source));
    }
  }
}

// The pixel at y / scale, x / scale, from the four around it; the edge repeats.
TEST(PaddingTest, UpSamplingBilinearly) {
  const Grid x = small_grid(2);
  for (const Place& times : {Place{1, 2, 2}, Place{1, 3, 2}}) {
    Grid y(x.batch, {1, x.size[1] * times[1], x.size[2] * times[2]}, x.channels);
    for (int64_t b = 0; b < x.batch; ++b) {
      for_each_place(y.size, [&](const Place& at) {
        Place low = {0, at[1] / times[1], at[2] / times[2]};
        const double dy = static_cast<double>(at[1] % times[1]) / static_cast<double>(times[1]);
        const double dx = static_cast<double>(at[2] % times[2]) / static_cast<double>(times[2]);
        const int64_t down = std::min(low[1] + 1, x.size[1] - 1);
        const int64_t right = std::min(low[2] + 1, x.size[2] - 1);
        for (int64_t c = 0; c < x.channels; ++c) {
          y.at(b, at, c) =
              (1 - dy) * ((1 - dx) * x.at(b, low, c) + dx * x.at(b, {0, low[1], right}, c)) +
              dy * ((1 - dx) * x.at(b, {0, down, low[2]}, c) + dx * x.at(b, {0, down, right}, c));
        }
      });
    }
    check_resizing("UpSampling2D", {{"size", {times[1], times[2]}}, {"interpolation", "bilinear"}},
                   2, x, y);
  }
}

TEST(PaddingTest, FormsThatProgramsWrite) {
  const KerasTensor image = Input({5, 6, 2});
  EXPECT_EQ(layers::ZeroPadding2D()(image).shape(), Shape({-1, 7, 8, 2}));
  EXPECT_EQ(layers::ZeroPadding2D(2)(image).shape(), Shape({-1, 9, 10, 2}));
  EXPECT_EQ(layers::ZeroPadding2D({1, 2})(image).shape(), Shape({-1, 7, 10, 2}));
  EXPECT_EQ(layers::ZeroPadding2D({{1, 1}, {2, 0}})(image).shape(), Shape({-1, 7, 8, 2}));
  EXPECT_EQ(layers::ZeroPadding1D({1, 2})(Input({5, 2})).shape(), Shape({-1, 8, 2}));
  EXPECT_EQ(layers::ZeroPadding3D({{1, 0}, {0, 0}, {2, 2}})(Input({3, 3, 3, 1})).shape(),
            Shape({-1, 4, 3, 7, 1}));
  EXPECT_EQ(layers::Cropping2D()(image).shape(), Shape({-1, 5, 6, 2}));
  EXPECT_EQ(layers::Cropping2D({{1, 2}, {0, 3}})(image).shape(), Shape({-1, 2, 3, 2}));
  EXPECT_EQ(layers::Cropping1D()(Input({5, 2})).shape(), Shape({-1, 3, 2}));
  EXPECT_EQ(layers::Cropping3D({1, 0, 1})(Input({3, 3, 3, 1})).shape(), Shape({-1, 1, 3, 1, 1}));
  EXPECT_EQ(layers::UpSampling2D({2, 3}, {.data_format = "channels_first"})(image).shape(),
            Shape({-1, 5, 12, 6}));
  EXPECT_EQ(layers::UpSampling1D(3)(Input({5, 2})).shape(), Shape({-1, 15, 2}));
  const KerasTensor any = Input({-1, -1, 2});
  const KerasTensor changed =
      layers::UpSampling2D()(layers::Cropping2D({{1, 0}, {0, 1}})(layers::ZeroPadding2D(2)(any)));
  EXPECT_EQ(changed.shape(), Shape({-1, -1, -1, 2}));
  EXPECT_EQ(Model(any, changed).predict(noise({2, 3, 5, 2}, 1)).shape(), Shape({2, 12, 16, 2}));
}

TEST(PaddingTest, ConfigurationsComeBack) {
  for (const int rank : {1, 2, 3}) {
    for (const char* kind : {"ZeroPadding", "Cropping", "UpSampling", "SpatialDropout"}) {
      const std::string name = fmt::format("{}{}D", kind, rank);
      const Json given =
          std::string(kind) == "SpatialDropout" ? Json{{"rate", 0.25}} : Json::object();
      const Json config = resizing_layer(name, given).get_config();
      EXPECT_EQ(resizing_layer(name, config).get_config(), config) << name;
      EXPECT_EQ(config.contains("data_format"), rank > 1) << name;
    }
  }
  EXPECT_EQ(resizing_layer("Cropping2D", Json::object()).get_config().at("cropping").dump(),
            "[[0,0],[0,0]]");
  EXPECT_EQ(resizing_layer("ZeroPadding1D", {{"padding", 2}}).get_config().at("padding").dump(),
            "[2,2]");
  EXPECT_EQ(
      resizing_layer("ZeroPadding1D", {{"padding", {0, 2}}}).get_config().at("padding").dump(),
      "[0,2]");
  EXPECT_EQ(
      resizing_layer("ZeroPadding3D", {{"padding", {0, 2, 1}}}).get_config().at("padding").dump(),
      "[[0,0],[2,2],[1,1]]");
  EXPECT_EQ(resizing_layer("UpSampling1D", Json::object()).get_config().at("size"), 2);
}

TEST(PaddingTest, RefuseWhatDoesNotFit) {
  const auto refuses = [](const std::function<void()>& f, const std::string& text) {
    EXPECT_THAT(error_of(f), HasSubstr(text));
  };
  refuses([] { layers::ZeroPadding2D()(Input({4, 4})); }, "expected ndim=4, found ndim=3");
  refuses(
      [] {
        layers::ZeroPadding2D({1, 2, 3});
      },
      "ZeroPadding2D: padding, got (1, 2, 3), expected one number, a number an axis or 2 "
      "pairs, 0 or more");
  refuses([] { layers::ZeroPadding1D(-1); },
          "ZeroPadding1D: padding, got (-1), expected one number, two numbers or 1 pairs");
  refuses([] { layers::ZeroPadding1D(1, {.data_format = "channels_first"}); },
          "ZeroPadding1D: data_format, got 'channels_first', expected none: the layer takes "
          "[batch, steps, channels]");
  refuses(
      [] {
        layers::Cropping2D({{2, 2}, {0, 0}}, {.name = "cut"})(Input({4, 4, 1}));
      },
      "cut: cropping ((2, 2), (0, 0)) removes 4 elements of axis 1, got an input of shape "
      "(None, 4, 4, 1), expected more");
  refuses([] { layers::UpSampling2D(2, {.interpolation = "cubic"}); },
          "UpSampling2D: interpolation, got 'cubic', expected 'nearest' or 'bilinear'");
  refuses([] { layers::UpSampling3D(2, {.interpolation = "bilinear"}); },
          "UpSampling3D: interpolation, got 'bilinear', expected 'nearest'");
  refuses(
      [] {
        layers::UpSampling2D(2, {.interpolation = "bilinear"})(Input({-1, 4, 1}));
      },
      "expected a known height and width");
  refuses(
      [] {
        resizing_layer("ZeroPadding2D", {{"padding", {{1, 2, 3}, {1, 2, 3}}}});
      },
      "expected an integer, a list of integers or of pairs");
  const KerasTensor masked = layers::Masking()(Input({5, 2}));
  refuses([&] { layers::Cropping1D()(masked); }, "does not support masking");
  refuses([&] { layers::UpSampling1D()(masked); }, "does not support masking");
  refuses([] { layers::SpatialDropout2D(1.0); },
          "SpatialDropout2D: rate, got 1, expected a number in [0, 1)");
}

// A channel of an example is dropped as a whole, or kept and scaled as a whole.
TEST(SpatialDropoutTest, DropsChannels) {
  for (const int rank : {1, 2, 3}) {
    for (const bool channels_first : {false, true}) {
      if (rank == 1 && channels_first) continue;
      Json config = {{"rate", 0.25}, {"seed", 3}, {"noise_shape", nullptr}};
      if (channels_first) config["data_format"] = "channels_first";
      const Layer layer = resizing_layer(fmt::format("SpatialDropout{}D", rank), config);
      Grid ones(40, rank == 1 ? Place{1, 1, 3} : rank == 2 ? Place{1, 2, 3} : Place{2, 2, 3}, 25);
      std::ranges::fill(ones.values, 1);
      const Tensor x = tensor_of(ones, rank, channels_first);
      const KerasTensor input = Input(Shape(Dims(x.shape().begin() + 1, x.shape().end())));
      EXPECT_TRUE(Model(input, layer(input)).predict(x).identical(x));
      const Grid y =
          grid_of(Model(input, layer(input, {.training = true})).predict(x), channels_first);
      int64_t dropped = 0;
      for (int64_t b = 0; b < 40; ++b) {
        for (int64_t c = 0; c < 25; ++c) {
          const double first = y.at(b, {0, 0, 0}, c);
          dropped += first == 0 ? 1 : 0;
          EXPECT_TRUE(first == 0 || std::abs(first - 4.0 / 3) < 1e-6);
          for_each_place(y.size, [&](const Place& at) { EXPECT_EQ(y.at(b, at, c), first); });
        }
      }
      EXPECT_NEAR(static_cast<double>(dropped) / 1000, 0.25, 0.06);
    }
  }
}

}  // namespace
}  // namespace systole::keras
