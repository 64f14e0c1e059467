#include "systole/train/candidate_sampling.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/session/session.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

class CandidateSamplingTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Output true_classes_ = constant(Tensor::of<int64_t>({2, 1}, {0, 7}));
};

using Sampler = SampledCandidates (*)(const CandidateSamplerOptions&);

// How often each of 8 classes comes up in a run, on the average.
std::vector<double> frequencies(const SampledCandidates& drawn, bool unique) {
  constexpr int kRuns = 4000;
  std::vector<double> counts(8, 0);
  Session session("", {.entropy = 5});
  auto draw = session.make_callable({drawn.sampled_candidates});
  for (int run = 0; run < kRuns; ++run) {
    const auto classes = draw({})[0].data<int64_t>();
    for (const int64_t c : classes) counts.at(static_cast<size_t>(c)) += 1.0 / kRuns;
    const std::set<int64_t> distinct(classes.begin(), classes.end());
    EXPECT_TRUE(!unique || distinct.size() == classes.size());
  }
  return counts;
}

TEST_F(CandidateSamplingTest, ClassesComeUpAsOftenAsExpected) {
  struct Row {
    Sampler sampler;
    bool unique;
    double tolerance;  // expected counts of unique classes are those of a mean number of tries
  };
  for (const Row& row :
       {Row{uniform_candidate_sampler, true, 0.03}, Row{uniform_candidate_sampler, false, 0.04},
        Row{log_uniform_candidate_sampler, true, 0.06},
        Row{log_uniform_candidate_sampler, false, 0.05}}) {
    const SampledCandidates drawn = row.sampler(
        {.true_classes = true_classes_, .num_sampled = 3, .unique = row.unique, .range_max = 8});
    const std::vector<double> counts = frequencies(drawn, row.unique);
    const Tensor expected = Session().run(drawn.true_expected_count);
    EXPECT_EQ(expected.shape(), Shape({2, 1}));
    EXPECT_NEAR(counts[0], expected.as_double(0), row.tolerance);
    EXPECT_NEAR(counts[7], expected.as_double(1), row.tolerance);
  }
}

TEST_F(CandidateSamplingTest, AllClassesWhenAllAreWanted) {
  const SampledCandidates drawn = log_uniform_candidate_sampler(
      {.true_classes = true_classes_, .num_sampled = 8, .range_max = 8});
  Session session;
  const auto values = session.run({drawn.sampled_candidates, drawn.sampled_expected_count});
  const auto classes = values[0].data<int64_t>();
  EXPECT_EQ(std::set<int64_t>(classes.begin(), classes.end()).size(), 8U);
  EXPECT_EQ(values[1].as_double(3), 1);
}

// Two classes drawn by hand for one example.
class SampledLossTest : public CandidateSamplingTest {
 protected:
  SampledLossOptions options() {
    return {.weights = constant(Tensor::of<float>({3, 2}, {1, 0, 0, 1, 1, 1})),
            .biases = constant(Tensor::of<float>({3}, {0.5, 0, -0.5})),
            .labels = constant(Tensor::of<int64_t>({1, 1}, {0})),
            .inputs = constant(Tensor::of<float>({1, 2}, {2, -1})),
            .num_sampled = 2,
            .num_classes = 3,
            .sampled_values = SampledCandidates{constant(Tensor::of<int64_t>({2}, {0, 2})),
                                                constant(Tensor::of<float>({1, 1}, {0.5})),
                                                constant(Tensor::of<float>({2}, {0.5, 0.25}))}};
  }
  // The scores, less the logarithm of the expected counts.
  const double true_ = 2.5 - std::log(0.5);
  const double hit_ = true_;
  const double other_ = 0.5 - std::log(0.25);
};

double softplus_of(double x) { return std::log1p(std::exp(x)); }

TEST_F(SampledLossTest, Nce) {
  EXPECT_NEAR(Session().run(nce_loss(options())).item<float>(),
              softplus_of(-true_) + softplus_of(hit_) + softplus_of(other_), 1e-5);
  SampledLossOptions without = options();
  without.remove_accidental_hits = true;
  EXPECT_NEAR(Session().run(nce_loss(without)).item<float>(),
              softplus_of(-true_) + softplus_of(other_), 1e-5);
}

TEST_F(SampledLossTest, ClassesDrawnByAUserMayBeNarrow) {
  SampledLossOptions narrow = options();
  narrow.sampled_values->sampled_candidates = constant(Tensor::of<int32_t>({2}, {0, 2}));
  EXPECT_NEAR(Session().run(sampled_softmax_loss(narrow)).item<float>(),
              softplus_of(other_ - true_), 1e-5);
}

TEST_F(SampledLossTest, SampledSoftmax) {
  EXPECT_NEAR(Session().run(sampled_softmax_loss(options())).item<float>(),
              softplus_of(other_ - true_), 1e-5);
}

TEST_F(SampledLossTest, LearnsWhichWordFollows) {
  constexpr int64_t kWords = 50;
  set_random_seed(1);
  const Output words = placeholder(DType::s32, {kWords});
  const Output next = placeholder(DType::s32, {kWords, 1});
  const Variable biases(zeros({kWords}));
  const Output inputs = one_hot(words, kWords);
  const Variable weights(zeros({kWords, kWords}));
  const Output loss = reduce_mean(sampled_softmax_loss({.weights = weights,
                                                        .biases = biases,
                                                        .labels = next,
                                                        .inputs = inputs,
                                                        .num_sampled = 10,
                                                        .num_classes = kWords}));
  const Operation train = GradientDescentOptimizer(20).minimize(loss);
  std::vector<int32_t> now(kWords);
  std::vector<int32_t> then(kWords);
  for (int32_t i = 0; i < kWords; ++i) {
    now[i] = i;
    then[i] = (i + 1) % kWords;
  }
  Session session;
  session.run(global_variables_initializer());
  const std::vector<FeedItem> feeds = {{words, Tensor::of<int32_t>({kWords}, now)},
                                       {next, Tensor::of<int32_t>({kWords, 1}, then)}};
  const double before = session.run(loss, feeds).item<float>();
  for (int step = 0; step < 200; ++step) session.run(Fetch(train), feeds);
  EXPECT_LT(session.run(loss, feeds).item<float>(), before / 10);
}

TEST_F(SampledLossTest, WhatDoesNotFit) {
  EXPECT_THAT(error_of([&] {
                log_uniform_candidate_sampler(
                    {.true_classes = true_classes_, .num_sampled = 9, .range_max = 8});
              }),
              HasSubstr("log_uniform_candidate_sampler: num_sampled, got 9, expected at most "
                        "range_max 8 of unique classes, at candidate_sampling_test.cc"));
  SampledLossOptions wrong = options();
  wrong.num_classes = 4;
  EXPECT_THAT(error_of([&] { nce_loss(wrong); }),
              HasSubstr("nce_loss: weights, got f32[3,2], expected [4,2]"));
  wrong = options();
  wrong.num_true = 2;
  EXPECT_THAT(error_of([&] { sampled_softmax_loss(wrong); }),
              HasSubstr("sampled_softmax_loss: labels, got s64[1,1], expected integers of [1,2]"));
  wrong.num_true = 0;
  EXPECT_THAT(error_of([&] { nce_loss(wrong); }),
              HasSubstr("nce_loss: num_true, got 0, expected at least 1"));
}

}  // namespace
}  // namespace systole
