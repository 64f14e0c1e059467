#include "apps/systole/data/thumbnails.h"

#include <gtest/gtest.h>

#include "systole/io/images/image.h"

namespace systole::app {
namespace {

std::optional<Tensor> image_in(const ExampleBuilder& builder) {
  const std::string bytes = builder.serialize();
  return image_of(ExampleView(bytes));
}

TEST(ThumbnailsTest, FindsTheImage) {
  const Tensor rgb = Tensor::of<uint8_t>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(
      image_in(ExampleBuilder().bytes("x", encode_png(rgb)).bytes("a", "text"))->identical(rgb));
  const auto raw =
      image_in(ExampleBuilder().bytes("image_raw", "abcdef").int64("height", 2).int64("width", 3));
  EXPECT_EQ(raw->shape(), (Shape{2, 3, 1}));
  const auto of_depth = [](int64_t depth, const std::string& pixels) {
    return image_in(ExampleBuilder()
                        .bytes("image_raw", pixels)
                        .int64("height", 1)
                        .int64("width", 2)
                        .int64("depth", depth));
  };
  EXPECT_TRUE(of_depth(2, "aXbX")->identical(Tensor::of<uint8_t>({1, 2, 1}, {'a', 'b'})));
  EXPECT_TRUE(of_depth(4, "abcXdefX")
                  ->identical(Tensor::of<uint8_t>({1, 2, 3}, {'a', 'b', 'c', 'd', 'e', 'f'})));
  EXPECT_FALSE(of_depth(5, "abcdeabcde"));
  EXPECT_EQ(image_in(ExampleBuilder().bytes("pixels", std::string(784, 'x')))->shape(),
            (Shape{28, 28, 1}));
  const std::vector<float> floats(784, 0.5F);
  EXPECT_EQ(image_in(ExampleBuilder().float32("image_floats", floats))->shape(),
            (Shape{28, 28, 1}));
  EXPECT_FALSE(image_in(ExampleBuilder().int64("label", 1).bytes("text", "some text")));
  const std::string cut = encode_png(Tensor::zeros(DType::u8, {9, 9, 3})).substr(0, 50);
  EXPECT_FALSE(image_in(ExampleBuilder().bytes("image", cut)));
}

}  // namespace
}  // namespace systole::app
