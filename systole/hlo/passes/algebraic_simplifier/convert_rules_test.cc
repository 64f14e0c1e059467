#include <gtest/gtest.h>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

TensorType vector_of(DType dtype) { return {dtype, {8}}; }

auto through(DType middle, DType last) {
  return [=](Builder& b, P p) { return b.convert(b.convert(p[0], middle), last); };
}

const RuleCase kCases[] = {
    {"convert_to_same",
     {vector_of(DType::f32)},
     [](Builder& b, P p) {
       return b.op(Opcode::convert, {p[0]}, NoAttrs{}, {p[0].type()})->result();
     },
     "p0"},
    {"convert_to_same",
     {vector_of(DType::f32)},
     [](Builder& b, P p) { return b.convert(p[0], DType::bf16); }},

    {"convert_of_convert",
     {vector_of(DType::bf16)},
     through(DType::f32, DType::f16),
     "convert:f16(p0)"},
    {"convert_of_convert",
     {vector_of(DType::bf16)},
     through(DType::f32, DType::s8),
     "convert:s8(p0)"},
    {"convert_of_convert",
     {vector_of(DType::s32)},
     through(DType::f64, DType::bf16),
     "convert:bf16(p0)"},
    {"convert_of_convert",
     {vector_of(DType::s8)},
     through(DType::s32, DType::u16),
     "convert:u16(p0)"},
    {"convert_of_convert",
     {vector_of(DType::pred)},
     through(DType::f32, DType::s32),
     "convert:s32(p0)"},
    {"convert_of_convert",
     {vector_of(DType::u8)},
     through(DType::bf16, DType::s16),
     "convert:s16(p0)"},
    // Loses bits on the way.
    {"convert_of_convert", {vector_of(DType::f32)}, through(DType::bf16, DType::f32)},
    {"convert_of_convert", {vector_of(DType::f16)}, through(DType::bf16, DType::f32)},
    {"convert_of_convert", {vector_of(DType::s32)}, through(DType::f32, DType::s64)},
    {"convert_of_convert", {vector_of(DType::s8)}, through(DType::u8, DType::s32)},
    // Saturates by way of a float, wraps directly.
    {"convert_of_convert", {vector_of(DType::s16)}, through(DType::f32, DType::s8)},

    {"convert_of_iota",
     {},
     [](Builder& b, P) {
       return b.convert(b.iota({DType::s32, {2, 5}}, 1), DType::f32);
     },
     "iota:f32[2,5]{1}()"},
    {"convert_of_iota",
     {},
     [](Builder& b, P) {
       return b.convert(b.iota({DType::s32, {300}}, 0), DType::bf16);
     }},
    {"convert_of_iota",
     {},
     [](Builder& b, P) {
       return b.convert(b.iota({DType::u8, {300}}, 0), DType::s32);
     }},
};

TEST(ConvertRules, Cases) { EXPECT_EQ(check_rules(convert_rules(), kCases), ""); }

}  // namespace
}  // namespace systole::hlo
