// Numbers of TensorFlow 2.15 (tf.compat.v1, CPU) for op seed 7, with the graph's seed 42 and
// without.
#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/initializers/initializers.h"
#include "systole/graph/testing/op_tester.h"

namespace systole {
namespace {

struct Numbers {
  std::string name;
  std::function<Output()> build;
  // The first numbers of the first run and of the second.
  std::vector<double> seed_42;
  std::vector<double> seed_42_again;
  std::vector<double> no_graph_seed;
  std::vector<double> no_graph_seed_again;
};

Output classes() {
  const Output p = constant(Tensor::of<float>({2, 4}, {.1F, .2F, .3F, .4F, .7F, .1F, .1F, .1F}));
  const Output drawn = multinomial(log(p), 3, {.seed = 7});
  return strided_slice(reshape(drawn, {-1}), {0}, {5});
}

std::vector<Numbers> uniform_numbers() {
  return {
      {"uniform_f32",
       [] { return random_uniform({5}, {.seed = 7}); },
       {0.8627677, 0.6567626, 0.99054587},
       {0.065535665, 0.15089273, 0.46992707},
       {0.48394096, 0.50620306, 0.25514376},
       {0.61898696, 0.50125027, 0.28693533}},
      {"uniform_f64",
       [] { return random_uniform({5}, {.dtype = DType::f64, .seed = 7}); },
       {0.902142425359716, 0.924367269320602, 0.869446158632944},
       {0.52428625924679, 0.759417014987194, 0.974498332999126},
       {0.871528382424643, 0.0411506707309601, 0.464081346363964},
       {0.951895832086448, 0.295483460200064, 0.886329737997184}},
      {"uniform_f16",
       [] { return random_uniform({5}, {.dtype = DType::f16, .seed = 7}); },
       {0.79296875, 0.19921875, 0.55175781},
       {0.86816406, 0.11328125, 0.64257812},
       {0.44433594, 0.81542969, 0.13769531},
       {0.74121094, 0.2421875, 0.57421875}},
      {"uniform_bf16",
       [] { return random_uniform({5}, {.dtype = DType::bf16, .seed = 7}); },
       {0.34375, 0.59375, 0.4140625},
       {0.9453125, 0.90625, 0.140625},
       {0.5546875, 0.5234375, 0.1015625},
       {0.9296875, 0.9375, 0.59375}},
      {"uniform_s32",
       [] {
         return random_uniform({5}, {.minval = -5, .maxval = 1000, .dtype = DType::s32, .seed = 7});
       },
       {251, 33, 664, 588, 937},
       {949, 538, 796, 741, 418},
       {442, 62, 110, 29, 275},
       {772, 911, 850, 446, 867}},
      {"uniform_s64",
       [] {
         return random_uniform({5}, {.minval = int64_t{-5},
                                     .maxval = int64_t{1000000000000},
                                     .dtype = DType::s64,
                                     .seed = 7});
       },
       {402749620264, 149340582867, 452986646705, 326083064611, 367080763079},
       {779462092657, 665313236142, 931423763681, 518918902008, 553646176316},
       {553281434789, 389968060839, 819591684838, 439097564809, 115437491611},
       {659888512493, 991470562991, 564889787915, 517788253025, 25007318195}},
  };
}

std::vector<Numbers> normal_numbers() {
  return {
      {"normal_f32",
       [] { return random_normal({5}, {.seed = 7}); },
       {-0.45274156, -0.30040753, -0.078828618},
       {1.8963923, 1.3616232, 0.56142658},
       {-0.046945684, -1.2039024, 1.1668352},
       {-0.0076943059, -0.9794299, -1.5779231}},
      {"normal_f64",
       [] { return random_normal({5}, {.dtype = DType::f64, .seed = 7}); },
       {-0.207642511016619, 0.403547186043481, -0.378058090732696},
       {-1.13442448678611, 0.0672010333866857, -0.205945425816926},
       {0.134086241665528, 0.506985773221168, -1.07129387195088},
       {0.301269820389866, -0.0885202566193122, -0.486244052500347}},
      {"truncated_f32",
       [] { return strided_slice(truncated_normal({50}, {.seed = 7}), {45}, {50}); },
       {-0.15304096, -0.21539806, 0.92856902},
       {-1.2065592, 1.8557127, 0.069680527},
       {-0.81911552, 0.27488819, -0.4302533},
       {1.0377978, 1.6576217, -1.4960877}},
      {"truncated_f64",
       [] {
         return strided_slice(truncated_normal({50}, {.dtype = DType::f64, .seed = 7}), {45}, {50});
       },
       {-0.130166423019957, 1.26951637012786, -0.0367402008935709},
       {-0.978762406532648, 0.281320328695109, 0.498938566714836},
       {-1.898506180595, 0.259697729006197, 0.604153159115554},
       {-0.424686206607064, -0.067007376279744, 0.656264339321856}},
  };
}

std::vector<Numbers> other_numbers() {
  return {
      {"multinomial",
       [] { return classes(); },
       {3, 3, 3, 2, 2},
       {3, 1, 3, 1, 3},
       {3, 0, 2, 2, 0},
       {3, 2, 2, 1, 0}},
      {"shuffle",
       [] { return strided_slice(random_shuffle(range(0, 20), {.seed = 7}), {0}, {5}); },
       {16, 0, 17, 5, 4},
       {5, 19, 8, 7, 17},
       {7, 5, 9, 18, 4},
       {9, 17, 5, 4, 1}},
      {"dropout",
       [] { return dropout(ones({5}), 0.5, {.seed = 7}); },
       {2, 2, 2, 2, 2},
       {0, 0, 0, 0, 0},
       {0, 2, 0, 0, 2},
       {2, 2, 0, 2, 2}},
      {"glorot",
       [] {
         return glorot_uniform_initializer(7)({2, 3}, DType::f32);
       },
       {0.79478419, 0.34344971, 1.0747323},
       {-0.076585531, -0.21465749, 0.1154331},
       {-0.035183549, 0.013590217, -0.53645319},
       {-0.17192644, -0.053148746, -0.2214812}},
  };
}

void expect_first(const Tensor& drawn, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double want = expected[i];
    const double rounding = drawn.dtype() == DType::f64 ? 1e-14 : 5e-7;
    EXPECT_NEAR(drawn.as_double(static_cast<int64_t>(i)), want, rounding * (1 + std::abs(want)));
  }
}

void expect_tensorflows(const std::vector<Numbers>& rows) {
  for (const Numbers& row : rows) {
    for (const bool of_graph : {true, false}) {
      SCOPED_TRACE(fmt::format("{}, seed of the graph: {}", row.name, of_graph));
      const auto graph = std::make_shared<Graph>();
      const GraphScope scope(*graph);
      if (of_graph) set_random_seed(42);
      const Output drawn = row.build();
      graph_testing::MiniSession session;
      expect_first(session.run(drawn), of_graph ? row.seed_42 : row.no_graph_seed);
      expect_first(session.run(drawn), of_graph ? row.seed_42_again : row.no_graph_seed_again);
    }
  }
}

TEST(TensorFlowNumbers, OfUniformOps) { expect_tensorflows(uniform_numbers()); }
TEST(TensorFlowNumbers, OfNormalOps) { expect_tensorflows(normal_numbers()); }
TEST(TensorFlowNumbers, OfOtherOps) { expect_tensorflows(other_numbers()); }

}  // namespace
}  // namespace systole
