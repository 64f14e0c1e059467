// Programs of TensorFlow's guide to data sets ("Importing Data"), line by line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/data/dataset.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/image_ops.h"
#include "systole/graph/api/io_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/images/image.h"
#include "systole/io/local/local_file_system.h"
#include "systole/session/session.h"

namespace systole::data {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

// "Decoding image data and resizing it".
TEST(GuideTest, ImageFilesWithLabels) {
  const TempFolder folder;
  std::vector<std::string> names;
  for (const int64_t size : {4, 6, 10}) {
    const auto grey = static_cast<uint8_t>(10 * size);
    names.push_back(folder / fmt::format("{}.jpg", size));
    write_file_atomically(local_file_system(), names.back(),
                          encode_jpeg(Tensor::full(DType::u8, {size, size + 1, 3}, grey)));
  }
  const Tensor filenames = Tensor::of<std::string>({3}, names);
  const Tensor labels = Tensor::of<int32_t>({3}, {0, 37, 29});

  const auto parse_function = [](Output filename, Output label) {
    const Output image_string = read_file(filename);
    const Output image_decoded = image::decode_jpeg(image_string, {.channels = 3});
    const Output image_resized = image::resize_images(image_decoded, {.height = 2, .width = 2});
    return std::pair(image_resized, label);
  };
  const Dataset dataset =
      Dataset::from_tensor_slices(Element::tuple({filenames, labels})).map(parse_function);
  EXPECT_EQ(dataset.element_spec().to_string(), "(f32[2,2,3], s32[])");
  for (const Dataset& batches : {dataset.batch(3), dataset.repeat().batch(3)}) {
    const Element batch = *batches.begin();
    EXPECT_EQ(to_text(batch[1]), "[0 37 29]");
    for (int i = 0; i < 3; ++i) {
      const float* const pixel = batch[0].leaf().data<float>().data() + int64_t{12} * i;
      EXPECT_NEAR(*pixel, (std::array{40, 60, 100})[i], 2) << i;
    }
  }

  std::filesystem::remove(names[1]);
  EXPECT_THAT(elements(dataset)[1],
              AllOf(HasSubstr("NOT_FOUND: ReadFile: "), HasSubstr(names[1]),
                    HasSubstr("guide_test.cc:"), HasSubstr("map: element 1")));
}

// "Batching tensors with padding".
TEST(GuideTest, PaddedBatches) {
  const Dataset dataset = Dataset::range(100)
                              .map([](Output x) { return fill({cast(x, DType::s32)}, x); })
                              .padded_batch(4, {.padded_shapes = Shape{kUnknown}});
  EXPECT_EQ(dataset.element_spec().to_string(), "s64[?,?]");
  const Dataset first = dataset.take(2);
  EXPECT_EQ(joined(first),
            "[[0 0 0] [1 0 0] [2 2 0] [3 3 3]] [[4 4 4 4 0 0 0] [5 5 5 5 5 0 0] "
            "[6 6 6 6 6 6 0] [7 7 7 7 7 7 7]]");
}

// tf.tile(tf.stack([x, 1]), [x]) and its like.
TEST(GuideTest, SizesAmongWhichAreTensors) {
  const Dataset tiled = Dataset::range(3).map([](Output x) {
    return std::pair(tile(stack({x, int64_t{-1}}), {x}), tile(fill({1, x}, 7), {2, 1}));
  });
  EXPECT_EQ(tiled.element_spec().to_string(), "(s64[?], s32[2,?])");
  EXPECT_EQ(joined(tiled), "([], [[] []]) ([1 -1], [[7] [7]]) ([2 -1 2 -1], [[7 7] [7 7]])");
  const Dataset negative =
      Dataset::range(1).map([](Output x) { return tile(fill({3}, 7), {x - int64_t{2}}); });
  EXPECT_THAT(joined(negative), HasSubstr("multiples, got [-2] for a tensor of [3], expected 1"));
}

// Python's tuples.
TEST(GuideTest, FunctionsReturnPairsAndTuples) {
  using N = Nest<Output>;
  const Dataset numbers = Dataset::range(3);
  const Dataset pairs = numbers.map([](Output x) { return std::pair(x, -x); });
  EXPECT_EQ(joined(pairs), "(0, 0) (1, -1) (2, -2)");
  EXPECT_EQ(joined(numbers.map([](Output x) { return std::tuple(x, x + x, -x); }).skip(2)),
            "(2, 4, -2)");
  EXPECT_EQ(joined(numbers.map([](Output x) { return std::tuple(x); }).skip(2)), "(2,)");
  const Dataset nested = pairs.map([](const N& x, const Output& y) {
    return std::pair(N::dict({{"x", x}, {"y", y}}), std::pair(y, y));
  });
  EXPECT_EQ(joined(nested.skip(2)), "({x: 2, y: -2}, (-2, -2))");
  EXPECT_EQ(
      joined(pairs.map([](const N& element) { return std::pair(element[1], element[0]); }).skip(2)),
      "(-2, 2)");
  EXPECT_EQ(joined(pairs.map([](auto x, auto y) { return std::make_pair(y, x); }).skip(2)),
            "(-2, 2)");
  // One that changes itself while it is traced.
  EXPECT_EQ(joined(pairs.map([n = int64_t{0}](Output x, Output) mutable { return x + ++n; })),
            "1 2 3");
  EXPECT_EQ(joined(pairs.batch(3).flat_map([](Output x, Output y) { return std::pair(y, x); })),
            "(0, 0) (-1, 1) (-2, 2)");
  EXPECT_EQ(
      joined(pairs.map_and_batch([](Output x, Output y) { return std::pair(y, x + y); }, 3, {})),
      "([0 -1 -2], [0 0 0])");
  const Dataset three =
      pairs.enumerate().map([](Output i, const N& xy) { return std::tuple(i, xy[0], xy[1]); });
  EXPECT_EQ(joined(three.skip(2)), "(2, 2, -2)");
}

static_assert(IsGraphResult<std::pair<Nest<Output>, std::tuple<Output, Output>>>::value);
static_assert(!IsGraphResult<std::pair<Output, int>>::value);
static_assert(!IsGraphResult<float>::value);

TEST(GuideTest, ErrorsOfGetNextNameItsLine) {
  Graph graph;
  const GraphScope scope(graph);
  const InitializableIterator iterator = Dataset::range(1).make_initializable_iterator();
  const int line = __LINE__ + 1;
  const Nest<Output> next = iterator.get_next();
  const Operation initializer = iterator.initializer();
  const std::string place = fmt::format("'IteratorGetNext' at {}:{}", "guide_test.cc", line);
  EXPECT_THAT(initializer.node()->describe(), HasSubstr(fmt::format("guide_test.cc:{}", line + 1)));
  Session session;
  EXPECT_THAT(error_of([&] { session.run(next); }),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(place)));
  session.run(initializer);
  session.run(next);
  EXPECT_THAT(error_of([&] { session.run(next); }),
              AllOf(HasSubstr("OUT_OF_RANGE"), HasSubstr(place)));
}

}  // namespace
}  // namespace systole::data
