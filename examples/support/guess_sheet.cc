#include "examples/support/guess_sheet.h"

#include <array>
#include <string_view>

#include "systole/io/images/image_sheet.h"

namespace examples {
namespace {

using systole::DType;
using systole::Tensor;

constexpr int64_t kCell = 40;   // a digit of 28 x 28 pixels, and its guess beside it
constexpr int64_t kShown = 80;  // its size on the sheet
constexpr int64_t kSide = 28;
constexpr int64_t kTop = 6;
constexpr int64_t kGlyphLeft = 29;
constexpr int64_t kGlyphTop = 13;
constexpr int64_t kGlyphWidth = 5;
constexpr int64_t kGlyphHeight = 7;

using Colour = std::array<uint8_t, 3>;
constexpr Colour kGreen = {90, 220, 90};
constexpr Colour kRed = {255, 70, 70};

// A row of 5 pixels after another.
constexpr std::array<std::string_view, 10> kGlyphs = {
    ".###.#...##..###.#.###..##...#.###.", "..#...##....#....#....#....#...###.",
    ".###.#...#....#...#...#...#...#####", "#####...#...#.....#.....##...#.###.",
    "...#...##..#.#.#..#.#####...#....#.", "######....####.....#....##...#.###.",
    "..##..#...#....####.#...##...#.###.", "#####....#...#...#...#....#....#...",
    ".###.#...##...#.###.#...##...#.###.", ".###.#...##...#.####....#...#..##.."};

void paint(Tensor& cell, int64_t y, int64_t x, Colour colour) {
  const auto pixels = cell.data<uint8_t>();
  for (int64_t c = 0; c < 3; ++c) {
    pixels[(y * kCell + x) * 3 + c] = colour[c];
  }
}

void paint_glyph(Tensor& cell, int32_t digit, Colour colour) {
  const std::string_view glyph = kGlyphs[digit];
  for (int64_t y = 0; y < 2 * kGlyphHeight; ++y) {
    for (int64_t x = 0; x < 2 * kGlyphWidth; ++x) {
      if (glyph[y / 2 * kGlyphWidth + x / 2] == '#') {
        paint(cell, kGlyphTop + y, kGlyphLeft + x, colour);
      }
    }
  }
}

Tensor guess_cell(const Tensor& image, int32_t label, int32_t guess) {
  Tensor cell = Tensor::zeros(DType::u8, {kCell, kCell, 3});
  const auto pixels = image.data<uint8_t>();
  for (int64_t y = 0; y < kSide; ++y) {
    for (int64_t x = 0; x < kSide; ++x) {
      const uint8_t grey = pixels[y * kSide + x];
      paint(cell, kTop + y, x, {grey, grey, grey});
    }
  }
  const bool right = label == guess;
  paint_glyph(cell, guess, right ? kGreen : kRed);
  for (int64_t i = 0; i < kCell && !right; ++i) {
    for (const int64_t edge : {int64_t{0}, kCell - 1}) {
      paint(cell, i, edge, kRed);
      paint(cell, edge, i, kRed);
    }
  }
  return cell;
}

}  // namespace

Tensor guess_sheet(const Tensor& images, const Tensor& labels, const Tensor& guesses,
                   int64_t columns) {
  const int64_t count = labels.dim(0);
  systole::ImageSheet sheet(columns, (count + columns - 1) / columns, kShown);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    sheet.add(guess_cell(images.slice(i, i + 1), labels.data<int32_t>()[at],
                         guesses.data<int32_t>()[at]));
  }
  return sheet.sheet();
}

}  // namespace examples
