// Every transformation, as data: its elements, spec and end, and that a state saved at any position
// restores to exactly what would have come next.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "systole/data/dataset.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/api/string_ops.h"
#include "systole/io/records/example.h"

namespace systole::data {
namespace {

using T = Tensor;
const ElementSpec kIntSpec{TensorType{DType::s64, {}}};

Element times(const Element& x, int64_t factor) { return T(x.leaf().item<int64_t>() * factor); }

std::function<Element(const Element&)> by(int64_t factor) {
  return [factor](const Element& x) { return times(x, factor); };
}

// Whether the ranges that pipelines begin with come from threads.
bool ranges_have_threads = false;

Dataset range(int64_t n) {
  const Dataset numbers = Dataset::range(n);
  return ranges_have_threads ? numbers.map_cpp(by(1), kIntSpec, {.num_parallel_calls = 2})
                             : numbers;
}

// 0 2 4..., as they come.
Dataset in_any_order(int64_t n) {
  return range(n).map_cpp(by(2), kIntSpec, {.num_parallel_calls = 2, .deterministic = false});
}

// 0 0 0, 1 1 1...
Dataset three_of(const Element& x) { return Dataset::from_tensors(x).repeat(3); }

// Some of three times x.
Dataset some_of_three(const Dataset& x) {
  return x.repeat(3).filter([](Output) { return random_uniform({}, {.seed = 5}) < 0.5; });
}

// A vector of x times x.
Dataset sequences(int64_t n) {
  return range(n).map_cpp(
      [](const Element& x) {
        const auto length = x.leaf().item<int64_t>();
        return T::of<int64_t>({length}, std::vector<int64_t>(static_cast<size_t>(length), length));
      },
      TensorType{DType::s64, {kUnknown}});
}

int64_t length_of(const Element& x) { return x.leaf().dim(0); }

Dataset::Generator squares() {
  return [i = int64_t{0}]() mutable -> std::optional<Element> {
    if (i == 4) return std::nullopt;
    const int64_t value = i++;
    return T(value * value);
  };
}

struct Pipeline {
  std::string name;
  std::function<Dataset()> make;
  std::string elements;  // "*": whatever, but the same at every restore
  std::string spec;
  bool in_order = true;
};

void PrintTo(const Pipeline& pipeline, std::ostream* os) { *os << pipeline.name; }

std::vector<Pipeline> source_cases() {
  return {
      {"from_tensors",
       [] {
         return Dataset::from_tensors(Element::tuple({T::of<float>({2}, {1, 2}), T("a")}));
       },
       "([1 2], a)", "(f32[2], string[])"},
      {"from_tensor_slices",
       [] {
         return Dataset::from_tensor_slices(Element::dict(
             {{"y", T::of<int32_t>({2}, {7, 8})}, {"x", T::of<std::string>({2, 1}, {"a", "b"})}}));
       },
       "{x: [a], y: 7} {x: [b], y: 8}", "{x: string[1], y: s32[]}"},
      {"range", [] { return Dataset::range(2, 9, 3); }, "2 5 8", "s64[]"},
      {"range_down", [] { return Dataset::range(3, 0, -1); }, "3 2 1", "s64[]"},
      {"range_empty", [] { return Dataset::range(0); }, "", "s64[]"},
      {"from_generator", [] { return Dataset::from_generator(squares, kIntSpec); }, "0 1 4 9",
       "s64[]"},
  };
}

std::vector<Pipeline> element_cases() {
  return {
      {"map_cpp", [] { return range(4).map_cpp(by(2), kIntSpec); }, "0 2 4 6", "s64[]"},
      {"map_cpp_parallel",
       [] { return range(9).map_cpp(by(2), kIntSpec, {.num_parallel_calls = 2}); },
       "0 2 4 6 8 10 12 14 16", "s64[]"},
      {"map_cpp_any_order", [] { return in_any_order(5); }, "0 2 4 6 8", "s64[]", false},
      {"filter_cpp",
       [] {
         return range(7).filter_cpp(
             [](const Element& x) { return x.leaf().item<int64_t>() % 3 == 1; });
       },
       "1 4", "s64[]"},
      {"flat_map", [] { return range(3).flat_map(three_of); }, "0 0 0 1 1 1 2 2 2", "s64[]"},
      {"flat_map_ops",
       [] { return range(3).flat_map([](Output x) {
              return stack({x, x * int64_t{10}});
            }); },
       "0 0 1 10 2 20", "s64[]"},
      {"interleave",
       [] { return range(4).interleave(three_of, {.cycle_length = 2, .block_length = 2}); },
       "0 0 1 1 0 1 2 2 3 3 2 3", "s64[]"},
      {"interleave_parallel",
       [] {
         return range(4).interleave(
             three_of, {.cycle_length = 2, .block_length = 2, .num_parallel_calls = 2});
       },
       "0 0 1 1 0 1 2 2 3 3 2 3", "s64[]"},
      {"interleave_parallel_of_few",
       [] { return range(2).interleave(three_of, {.cycle_length = 5, .num_parallel_calls = 3}); },
       "0 1 0 1 0 1", "s64[]"},
      {"interleave_any_order",
       [] {
         return range(4).interleave(
             three_of, {.cycle_length = 2, .num_parallel_calls = 2, .deterministic = false});
       },
       "0 0 0 1 1 1 2 2 2 3 3 3", "s64[]", false},
  };
}

// x, x + 10.
Dataset traced_two(const Dataset& x) {
  return x.concatenate(x.map([](Output y) { return y + int64_t{10}; }));
}

// Functions of data sets that are traced once.
std::vector<Pipeline> traced_cases() {
  return {
      {"flat_map", [] { return range(3).flat_map(traced_two); }, "0 10 1 11 2 12", "s64[]"},
      {"flat_map_of_rows",
       [] { return sequences(4).flat_map([](const Dataset& x) { return x.unbatch(); }); },
       "1 2 2 3 3 3", "s64[]"},
      {"flat_map_nested",
       [] {
         return range(2).flat_map([](const Dataset& outer) {
           return Dataset::range(2).flat_map([outer](const Dataset& inner) {
             return Dataset::zip(Nest<Dataset>::tuple({outer, inner}));
           });
         });
       },
       "(0, 0) (0, 1) (1, 0) (1, 1)", "(s64[], s64[])"},
      {"flat_map_cached",
       [] {
         return range(2).flat_map([](const Dataset& x) {
           return x.repeat(3).shuffle(2, {.seed = 1}).cache().repeat(2);
         });
       },
       "0 0 0 0 0 0 1 1 1 1 1 1", "s64[]"},
      {"interleave", [] { return range(3).interleave(traced_two, {.cycle_length = 2}); },
       "0 1 10 11 2 12", "s64[]"},
      {"interleave_parallel",
       [] { return range(3).interleave(traced_two, {.cycle_length = 2, .num_parallel_calls = 2}); },
       "0 1 10 11 2 12", "s64[]"},
      {"interleave_any_order",
       [] {
         return range(3).interleave(
             [](const Dataset& x) { return x.repeat(2).prefetch(1); },
             {.cycle_length = 2, .num_parallel_calls = 2, .deterministic = false});
       },
       "0 0 1 1 2 2", "s64[]", false},
      {"window_twice",
       [] {
         return range(4).window(2).flat_map(
             [](const Nest<Dataset>& w) { return w.leaf().concatenate(w.leaf()); });
       },
       "0 1 0 1 2 3 2 3", "s64[]"},
  };
}

std::vector<Pipeline> choice_cases() {
  return {
      {"zip",
       [] {
         return Dataset::zip(Nest<Dataset>::dict(
             {{"b", range(3)}, {"a", Nest<Dataset>::tuple({range(9), range(5).skip(2)})}}));
       },
       "{a: (0, 2), b: 0} {a: (1, 3), b: 1} {a: (2, 4), b: 2}", "{a: (s64[], s64[]), b: s64[]}"},
      {"concatenate", [] { return range(2).batch(2, true).concatenate(range(3).batch(3, true)); },
       "[0 1] [0 1 2]", "s64[?]"},
      {"enumerate", [] { return Dataset::range(5, 7).enumerate(3); }, "(3, 5) (4, 6)",
       "(s64[], s64[])"},
      {"take", [] { return range(9).take(3); }, "0 1 2", "s64[]"},
      {"take_all", [] { return range(3).take(-1); }, "0 1 2", "s64[]"},
      {"skip", [] { return range(5).skip(3); }, "3 4", "s64[]"},
      {"skip_all", [] { return range(3).skip(-1); }, "", "s64[]"},
      {"shard", [] { return range(8).shard(3, 1); }, "1 4 7", "s64[]"},
      {"repeat", [] { return range(3).repeat(2); }, "0 1 2 0 1 2", "s64[]"},
      {"repeat_none", [] { return range(3).repeat(0); }, "", "s64[]"},
      {"repeat_nothing", [] { return range(0).repeat(); }, "", "s64[]"},
      {"repeat_forever", [] { return range(2).repeat().take(5); }, "0 1 0 1 0", "s64[]"},
      {"sample_from",
       [] {
         return Dataset::sample_from_datasets({range(4), Dataset::range(10, 14)}, {0.2, 0.8}, 7);
       },
       "*", "s64[]"},
      {"sample_from_unequal",
       [] {
         return Dataset::sample_from_datasets(
             {range(2), Dataset::range(10, 20), Dataset::range(20, 25)}, {}, 7);
       },
       "*", "s64[]"},
  };
}

std::vector<Pipeline> shuffle_cases() {
  return {
      {"shuffle", [] { return range(9).shuffle(4, {.seed = 1}); }, "*", "s64[]"},
      {"shuffle_of_one", [] { return range(4).shuffle(1, {.seed = 1}); }, "0 1 2 3", "s64[]"},
      {"shuffle_unseeded", [] { return range(9).shuffle(4).repeat(2).shuffle(3); }, "*", "s64[]"},
      {"shuffle_repeat", [] { return range(5).shuffle(9, {.seed = 1}).repeat(3); }, "*", "s64[]"},
      {"shuffle_and_repeat", [] { return range(5).shuffle_and_repeat(9, 3, 1); }, "*", "s64[]"},
      {"shuffle_once",
       [] { return range(5).shuffle(9, {.seed = 1, .reshuffle_each_iteration = false}).repeat(2); },
       "*", "s64[]"},
  };
}

std::vector<Pipeline> batch_cases() {
  return {
      {"batch", [] { return range(5).batch(2); }, "[0 1] [2 3] [4]", "s64[?]"},
      {"batch_drop", [] { return range(5).apply(batch_and_drop_remainder(2)); }, "[0 1] [2 3]",
       "s64[2]"},
      {"batch_of_batches", [] { return range(8).batch(2, true).batch(2); },
       "[[0 1] [2 3]] [[4 5] [6 7]]", "s64[?,2]"},
      {"padded_batch", [] { return sequences(4).padded_batch(2); }, "[[0] [1]] [[2 2 0] [3 3 3]]",
       "s64[?,?]"},
      {"padded_batch_to",
       [] {
         return sequences(3).padded_batch(
             2,
             {.padded_shapes = Shape{4}, .padding_values = T(int64_t{9}), .drop_remainder = true});
       },
       "[[9 9 9 9] [1 9 9 9]]", "s64[2,4]"},
      {"unbatch", [] { return range(5).batch(2).unbatch(); }, "0 1 2 3 4", "s64[]"},
  };
}

// What they draw belongs to the element and the epoch.
std::vector<Pipeline> random_choice_cases() {
  return {
      {"filter_random",
       [] {
         return range(20)
             .filter([](Output) { return random_uniform({}, {.seed = 5}) < 0.5; })
             .repeat(2);
       },
       "*", "s64[]"},
      {"flat_map_random", [] { return range(4).flat_map(some_of_three); }, "*", "s64[]"},
      {"interleave_random", [] { return range(4).interleave(some_of_three, {.cycle_length = 2}); },
       "*", "s64[]"},
      {"interleave_random_parallel",
       [] {
         return range(4).interleave(some_of_three, {.cycle_length = 2, .num_parallel_calls = 2});
       },
       "*", "s64[]"},
      {"bucket_random",
       [] {
         return range(20).bucket_by_sequence_length(
             [](Output) { return cast(random_uniform({}, {.seed = 5}) * 4, DType::s32); },
             {.bucket_boundaries = {2}, .bucket_batch_sizes = {3, 3}});
       },
       "*", "s64[?]"},
  };
}

std::vector<Pipeline> bucket_cases() {
  return {
      {"bucket",
       [] {
         return sequences(6).bucket_by_sequence_length(
             length_of, {.bucket_boundaries = {2, 4}, .bucket_batch_sizes = {2, 2, 2}});
       },
       "[[0] [1]] [[2 2 0] [3 3 3]] [[4 4 4 4 0] [5 5 5 5 5]]", "s64[?,?]"},
      {"bucket_by_ops",
       [] {
         return sequences(6).bucket_by_sequence_length(
             [](Output x) { return size(x); },
             {.bucket_boundaries = {2, 4}, .bucket_batch_sizes = {2, 2, 2}});
       },
       "[[0] [1]] [[2 2 0] [3 3 3]] [[4 4 4 4 0] [5 5 5 5 5]]", "s64[?,?]"},
      {"bucket_to_boundary",
       [] {
         return sequences(4).bucket_by_sequence_length(length_of, {.bucket_boundaries = {3, 6},
                                                                   .bucket_batch_sizes = {2, 1, 1},
                                                                   .pad_to_bucket_boundary = true});
       },
       "[[0 0] [1 0]] [[3 3 3 0 0]] [[2 2]]", "s64[?,?]"},
  };
}

std::vector<Pipeline> window_cases() {
  return {
      {"window",
       [] {
         return range(7)
             .window(3, {.shift = 2, .drop_remainder = true})
             .flat_map([](const Dataset& w) { return w.batch(3); });
       },
       "[0 1 2] [2 3 4] [4 5 6]", "s64[?]"},
      {"window_stride",
       [] {
         return range(7).window(2, {.shift = 4, .stride = 2}).flat_map([](const Nest<Dataset>& w) {
           return w.leaf().batch(3);
         });
       },
       "[0 2] [4 6]", "s64[?]"},
      {"window_gap",
       [] {
         return range(7).window(2, {.shift = 3}).flat_map([](const Nest<Dataset>& w) {
           return w.leaf();
         });
       },
       "0 1 3 4 6", "s64[]"},
      {"window_once",
       [] {
         return range(5)
             .window(2, {.shift = int64_t{1} << 62})
             .flat_map([](const Nest<Dataset>& w) { return w.leaf(); });
       },
       "0 1", "s64[]"},
      {"window_of_pairs",
       [] {
         return range(3).enumerate(5).window(2).flat_map(
             [](const Nest<Dataset>& w) { return Dataset::zip(w); });
       },
       "(5, 0) (6, 1) (7, 2)", "(s64[], s64[])"},
      {"window_of_two",
       [] {
         return range(3).enumerate(5).window(2).flat_map([](const Dataset& i, const Dataset& x) {
           return Dataset::zip({x.batch(2), i.batch(2)});
         });
       },
       "([0 1], [5 6]) ([2], [7])", "(s64[?], s64[?])"},
  };
}

std::vector<Pipeline> running_cases() {
  return {
      {"cache", [] { return range(3).shuffle(3, {.seed = 3}).cache().repeat(3); }, "*", "s64[]"},
      {"cache_unread", [] { return range(5).cache().take(2).repeat(2); }, "0 1 0 1", "s64[]"},
      {"prefetch", [] { return range(5).prefetch(2); }, "0 1 2 3 4", "s64[]"},
      {"prefetch_auto", [] { return range(5).prefetch(); }, "0 1 2 3 4", "s64[]"},
      {"prefetch_repeat", [] { return range(3).prefetch(2).repeat(2).prefetch(1); }, "0 1 2 0 1 2",
       "s64[]"},
      {"prefetch_shuffle",
       [] { return range(9).prefetch(2).shuffle(4, {.seed = 2}).repeat(2).prefetch(3); }, "*",
       "s64[]"},
      {"cache_parallel",
       [] {
         return range(5).map_cpp(by(2), kIntSpec, {.num_parallel_calls = 2}).cache().repeat(2);
       },
       "0 2 4 6 8 0 2 4 6 8", "s64[]"},
      {"cache_any_order", [] { return in_any_order(5).cache().repeat(2); }, "0 0 2 2 4 4 6 6 8 8",
       "s64[]", false},
      {"cache_zipped",
       [] {
         const Dataset x = range(3).shuffle(3).cache();
         return Dataset::zip(Nest<Dataset>::tuple({x, x})).repeat(3);
       },
       "*", "(s64[], s64[])"},
      {"cache_blocks", [] { return range(150).cache().skip(126).take(4).repeat(2); },
       "126 127 128 129 126 127 128 129", "s64[]"},
      {"unbatch_parallel",
       [] {
         return range(6).map_cpp(by(2), kIntSpec, {.num_parallel_calls = 2}).batch(4).unbatch();
       },
       "0 2 4 6 8 10", "s64[]"},
      {"zip_parallel",
       [] {
         return Dataset::zip(Nest<Dataset>::tuple(
             {range(5).map_cpp(by(2), kIntSpec, {.num_parallel_calls = 2}), range(9).prefetch(2)}));
       },
       "(0, 0) (2, 1) (4, 2) (6, 3) (8, 4)", "(s64[], s64[])"},
      {"options",
       [] {
         return range(5)
             .map_cpp(by(3), kIntSpec, {.num_parallel_calls = AUTOTUNE})
             .options({.deterministic = false, .autotune_threads = 2});
       },
       "0 12 3 6 9", "s64[]", false},
      {"set_shape", [] { return range(4).batch(2).set_shape(Shape{2}); }, "[0 1] [2 3]", "s64[2]"},
      {"all_together",
       [] {
         return range(6)
             .interleave(three_of, {.cycle_length = 3, .num_parallel_calls = 2})
             .shuffle(5, {.seed = 9})
             .map_cpp(by(10), kIntSpec, {.num_parallel_calls = 2})
             .cache()
             .repeat(2)
             .batch(4)
             .prefetch(2);
       },
       "*", "s64[?]"},
  };
}

// 10 x to 10 x + 3, of which the second fails.
Dataset one_fails(const Element& x) {
  const int64_t from = 10 * x.leaf().item<int64_t>();
  return Dataset::range(from, from + 4)
      .map_cpp(
          [](const Element& y) -> Element {
            if (y.leaf().item<int64_t>() % 10 == 1) throw std::runtime_error("no");
            return y;
          },
          kIntSpec);
}

Dataset interleaved_errors(int64_t threads) {
  return range(2)
      .interleave(one_fails, {.cycle_length = 2, .block_length = 2, .num_parallel_calls = threads})
      .ignore_errors();
}

// 10 x and what follows; the third is none.
Dataset third_is_not_made(const Element& x) {
  constexpr int64_t kSizes[] = {2, 6, 0, 3};
  const auto i = x.leaf().item<int64_t>();
  if (i == 2) throw std::runtime_error("no");
  return Dataset::range(10 * i, 10 * i + kSizes[i]);
}

Dataset interleaved_but_one(int64_t threads) {
  return range(4)
      .interleave(third_is_not_made, {.cycle_length = 2, .num_parallel_calls = threads})
      .ignore_errors();
}

std::vector<Pipeline> error_cases() {
  return {
      {"take_errors", [] { return range(1).flat_map(one_fails).take(3).ignore_errors(); }, "0 2 3",
       "s64[]"},
      {"interleave_errors", [] { return interleaved_errors(0); }, "0 2 10 12 3 13", "s64[]"},
      {"interleave_errors_parallel", [] { return interleaved_errors(2); }, "0 2 10 12 3 13",
       "s64[]"},
      {"interleave_but_one", [] { return interleaved_but_one(0); },
       "0 10 1 11 12 30 13 31 14 32 15", "s64[]"},
      {"interleave_but_one_parallel", [] { return interleaved_but_one(2); },
       "0 10 1 11 12 30 13 31 14 32 15", "s64[]"},
      {"ignore_errors",
       [] {
         return range(5)
             .map_cpp(
                 [](const Element& x) -> Element {
                   if (x.leaf().item<int64_t>() % 2 == 1) throw std::runtime_error("odd");
                   return x;
                 },
                 kIntSpec)
             .ignore_errors();
       },
       "0 2 4", "s64[]"},
      {"ignore_errors_parallel",
       [] {
         return range(9)
             .map_cpp(
                 [](const Element& x) -> Element {
                   if (x.leaf().item<int64_t>() % 3 == 1) throw std::runtime_error("no");
                   return x;
                 },
                 kIntSpec, {.num_parallel_calls = 2})
             .ignore_errors();
       },
       "0 2 3 5 6 8", "s64[]"},
      {"errors_in_chunks",
       [] {
         const std::vector<std::string> texts{"1", "x", "3", "4", "5", "6", "y", "8"};
         return Dataset::from_tensor_slices(texts).map(
             [](Output x) { return string_to_number(x, {.out_type = DType::s64}); });
       },
       "*", "s64[]"},
      {"errors",
       [] {
         return range(3).map_cpp(
             [](const Element& x) -> Element {
               if (x.leaf().item<int64_t>() == 1) throw std::runtime_error("odd");
               return x;
             },
             kIntSpec, {.num_parallel_calls = 2});
       },
       "0 UNKNOWN: odd, map_cpp: element 1 2", "s64[]"},
  };
}

Output twice(const Output& x) { return x * int64_t{2}; }

Dataset text_dataset() {
  return Dataset::from_tensor_slices(
      Element(T::of<std::string>({7}, {"a", "bb", "", "dddd", "e", "f", "g"})));
}

Dataset pairs() {
  return Dataset::from_tensor_slices(
      Element::tuple({T::of<int32_t>({5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
                      T::of<float>({5}, {0, 1, 2, 3, 4})}));
}

// tf.Examples with two bytes and a label each.
Dataset example_records(int64_t n) {
  return range(n).map_cpp(
      [](const Element& x) {
        const auto i = x.leaf().item<int64_t>();
        const std::string bytes{static_cast<char>(i), static_cast<char>(2 * i)};
        return T(ExampleBuilder().bytes("image", {bytes}).int64("label", i).serialize());
      },
      TensorType{DType::string, {}});
}

Nest<Output> parsed(const Nest<Output>& record) {
  const Nest<Output> features = parse_single_example(
      record,
      {{"image", FixedLenFeature{{}, DType::string}}, {"label", FixedLenFeature{{}, DType::s64}}});
  return Nest<Output>::tuple(
      {set_shape(decode_raw(features["image"], DType::u8), {2}), features["label"]});
}

// Functions written with ops: called for several elements at once, or for a batch.
std::vector<Pipeline> graph_cases() {
  return {
      {"map", [] { return range(9).map(twice); }, "0 2 4 6 8 10 12 14 16", "s64[]"},
      {"map_parallel", [] { return range(9).map(twice, {.num_parallel_calls = 2}); },
       "0 2 4 6 8 10 12 14 16", "s64[]"},
      {"map_any_order",
       [] { return range(6).map(twice, {.num_parallel_calls = 2, .deterministic = false}); },
       "0 10 2 4 6 8", "s64[]", false},
      {"map_random",
       [] {
         return range(4)
             .map([](Output x) { return cast(x, DType::f32) + random_uniform({}, {.seed = 5}); })
             .repeat(2);
       },
       "*", "f32[]"},
      {"map_random_parallel",
       [] {
         return range(4)
             .map([](Output x) { return cast(x, DType::f32) + random_uniform({}, {.seed = 5}); },
                  {.num_parallel_calls = 2})
             .repeat(2);
       },
       "*", "f32[]"},
      {"filter",
       [] { return range(7).filter([](Output x) { return equal(x % int64_t{3}, int64_t{1}); }); },
       "1 4", "s64[]"},
      {"map_batches", [] { return range(5).map(twice).map(twice).batch(2); }, "[0 4] [8 12] [16]",
       "s64[?]"},
      {"map_batches_parallel",
       [] { return range(5).map(twice, {.num_parallel_calls = 2}).repeat(2).batch(4, true); },
       "[0 2 4 6] [8 0 2 4]", "s64[4]"},
      {"map_and_batch",
       [] {
         return range(5).map_and_batch(twice, 2, {.num_parallel_calls = 2, .drop_remainder = true});
       },
       "[0 2] [4 6]", "s64[2]"},
      {"gather", [] { return pairs().take(4).batch(3); },
       "([[0 1] [2 3] [4 5]], [0 1 2]) ([[6 7]], [3])", "(s32[?,2], f32[?])"},
      {"gather_shuffled",
       [] { return pairs().shuffle(3, {.seed = 1}).repeat(2).batch(4).prefetch(1); }, "*",
       "(s32[?,2], f32[?])"},
      {"gather_texts", [] { return text_dataset().skip(2).batch(3); }, "[ dddd e] [f g]",
       "string[?]"},
      {"parse_batch",
       [] { return example_records(7).map(parsed).shuffle(3, {.seed = 1}).repeat(2).batch(3); },
       "*", "(u8[?,2], s64[?])"},
      {"parse_batch_of_all",
       [] { return example_records(3).shuffle(9, {.seed = 1}).map(parsed).batch(2, true); }, "*",
       "(u8[2,2], s64[2])"},
      {"shuffle_texts",
       [] {
         return text_dataset()
             .filter_cpp([](const Element&) { return true; })
             .shuffle(3, {.seed = 1})
             .batch(2);
       },
       "*", "string[?]"},
  };
}

// The same, by the elements that a map gives one by one.
TEST(ParseBatchTest, GivesWhatParsingOneByOneDoes) {
  for (const int64_t buffer : {1, 2, 5, 100}) {
    const auto chosen = [&] {
      return example_records(40).map(parsed).shuffle(buffer, {.seed = 3}).repeat(2);
    };
    const Dataset batches = chosen().batch(7);
    EXPECT_NE(batches.to_string().find(".parse_batch(7).map_batches()"), std::string::npos)
        << batches.to_string();
    const auto all = [](const Element&) { return true; };
    EXPECT_EQ(joined(batches), joined(chosen().filter_cpp(all).batch(7)));
  }
}

class PipelineTest : public ::testing::TestWithParam<Pipeline> {};

std::vector<std::string> sorted_unless(bool in_order, std::vector<std::string> texts) {
  if (!in_order) std::ranges::sort(texts);
  return texts;
}

std::string join(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : " ") + text;
  return result;
}

TEST_P(PipelineTest, ElementsSpecAndEnd) {
  const Pipeline& p = GetParam();
  const Dataset dataset = p.make();
  EXPECT_EQ(dataset.element_spec().to_string(), p.spec);
  Iterator iterator(dataset, {.entropy = 1});
  const std::vector<std::string> got = sorted_unless(p.in_order, rest(iterator));
  if (p.elements != "*") {
    EXPECT_EQ(join(got), p.elements);
  }
  EXPECT_FALSE(iterator.next().has_value());
  EXPECT_EQ(sorted_unless(p.in_order, elements(dataset, {.stats = false, .entropy = 1})), got);
}

// With a state saved at every position.
void expect_restores(const Pipeline& p, const std::function<Dataset()>& make) {
  const std::vector<std::string> all = elements(make(), {.entropy = 5});
  if (p.elements != "*") {
    EXPECT_EQ(join(sorted_unless(p.in_order, all)), p.elements);
  }
  for (size_t position = 0; position <= all.size() + 1; ++position) {
    Iterator saved(make(), {.entropy = 5});
    const auto before = rest(saved, static_cast<int64_t>(position));
    const std::string state = saved.save_state();
    Iterator restored(make());
    restored.restore_state(state);
    std::vector<std::string> joined = before;
    std::ranges::copy(rest(restored), std::back_inserter(joined));
    EXPECT_EQ(sorted_unless(p.in_order, joined), sorted_unless(p.in_order, all))
        << "at " << position;
    joined = before;
    std::ranges::copy(rest(saved), std::back_inserter(joined));
    EXPECT_EQ(sorted_unless(p.in_order, joined), sorted_unless(p.in_order, all))
        << "after saving at " << position;
  }
}

TEST_P(PipelineTest, RestoresAtEveryPosition) { expect_restores(GetParam(), GetParam().make); }

// The same where threads give the elements and others take them.
TEST_P(PipelineTest, RestoresBetweenThreads) {
  const auto make = [&] {
    ranges_have_threads = true;
    Dataset result = GetParam().make().prefetch(1);
    ranges_have_threads = false;
    return result;
  };
  expect_restores(GetParam(), make);
}

TEST_P(PipelineTest, ClosesInTheMiddle) {
  const Pipeline& p = GetParam();
  for (int64_t taken = 0; taken < 4; ++taken) {
    Iterator iterator(p.make());
    rest(iterator, taken);
  }
}

std::string case_name(const ::testing::TestParamInfo<Pipeline>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Sources, PipelineTest, ::testing::ValuesIn(source_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Elements, PipelineTest, ::testing::ValuesIn(element_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Traced, PipelineTest, ::testing::ValuesIn(traced_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Choice, PipelineTest, ::testing::ValuesIn(choice_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Shuffle, PipelineTest, ::testing::ValuesIn(shuffle_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Batch, PipelineTest, ::testing::ValuesIn(batch_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Graph, PipelineTest, ::testing::ValuesIn(graph_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(RandomChoices, PipelineTest, ::testing::ValuesIn(random_choice_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Buckets, PipelineTest, ::testing::ValuesIn(bucket_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Windows, PipelineTest, ::testing::ValuesIn(window_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Errors, PipelineTest, ::testing::ValuesIn(error_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Running, PipelineTest, ::testing::ValuesIn(running_cases()), case_name);

}  // namespace
}  // namespace systole::data
