#include "systole/tpu_check/type_costs.h"

#include <fmt/core.h>

namespace systole::tpu_check {
namespace {

constexpr std::array<std::string_view, 4> kChips = {"v2", "v3", "v5e", "v6e"};

constexpr std::array kCosts = {
    TypeCost{.element = "f64",
             .how = "as pairs of f32, slow to compile too",
             .product = {97},
             .elementwise = {2.0, 2.0}},
    TypeCost{.element = "f16",
             .how = "in f32",
             .product = {0.95, 0.90, 0.95, 1.0},
             .elementwise = {0.85, 0.85}},
    TypeCost{.element = "i16",
             .how = "in 32 bits",
             .product = {3.5, 3.0, 2.3, 1.4},
             .elementwise = {0.85, 0.85}},
    TypeCost{.element = "ui16",
             .how = "in 32 bits",
             .product = {3.5, 3.0, 2.3, 1.4},
             .elementwise = {0.85, 0.85}},
    TypeCost{.element = "i4",
             .how = "in more bits",
             .product = {0.92, 0.82, 0.61, 0.72},
             .elementwise = {0.62, 0.63}},
    TypeCost{.element = "ui4",
             .how = "in more bits",
             .product = {0.92, 0.82, 0.61, 0.72},
             .elementwise = {0.62, 0.63}},
    TypeCost{
        .element = "i64", .how = "as pairs of i32, but for products", .elementwise = {2.0, 2.0}},
    TypeCost{
        .element = "ui64", .how = "as pairs of i32, but for products", .elementwise = {2.0, 2.0}},
    TypeCost{.element = "f8E4M3FN", .how = "in more bits"},
    TypeCost{.element = "f8E5M2", .how = "in more bits", .product = {0.92, 0.82, 0.64, 0.75}},
    TypeCost{.element = "f8E4M3B11FNUZ", .how = "in more bits"},
    TypeCost{.element = "f8E3M4", .how = "in more bits"},
    TypeCost{.element = "f4E2M1FN", .how = "in more bits"},
};

// "2.1 (v2), 3 (v5e)" of what was measured; "" if nothing was.
std::string list_of(const std::array<double, 4>& times) {
  std::string text;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] == 0) continue;
    text += fmt::format("{}{:.2g} ({})", text.empty() ? "" : ", ", times[i], kChips[i]);
  }
  return text;
}

}  // namespace

std::span<const TypeCost> type_costs() { return kCosts; }

std::string TypeCost::to_string() const {
  std::string text = fmt::format(
      "Cloud TPUs of 2018 had no such type; libtpu of today computes it on every generation {}",
      how);
  if (const std::string times = list_of(product); !times.empty())
    text += fmt::format("; a product takes times as long as in f32: {}", times);
  if (const std::string times = list_of(elementwise); !times.empty())
    text += fmt::format("; an addition: {}", times);
  return text;
}

}  // namespace systole::tpu_check
