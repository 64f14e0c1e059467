// Ops on strings and records: values and errors, by table.
#include "systole/graph/api/string_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/parsing_ops.h"
#include "systole/session/host/host_function.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using Inputs = std::vector<Output>;

struct Row {
  std::string name;
  std::vector<Tensor> inputs;
  std::function<std::vector<Output>(const Inputs& x)> build;
  std::vector<Tensor> expected = {};
  std::string error = {};
  // Fed with a first dimension of unknown size, and as a batch of one, where the function has one.
  bool row_wise = true;
};

Tensor strings_of(const std::vector<std::string>& values) {
  return Tensor::of<std::string>({static_cast<int64_t>(values.size())}, values);
}
Tensor text(const std::string& value) { return Tensor::scalar<std::string>(value); }
template <class T>
Tensor vec(std::vector<T> values) {
  return Tensor::of<T>({static_cast<int64_t>(values.size())}, values);
}

void expect_same(const Tensor& got, const Tensor& want) {
  EXPECT_TRUE(got.identical(want))
      << "got " << got.to_string() << ", expected " << want.to_string();
}

HostFunction function_of(const Row& row) {
  std::vector<Nest<TensorType>> spec;
  for (const Tensor& input : row.inputs) spec.emplace_back(input.type());
  return HostFunction::trace(Nest<TensorType>::tuple(spec), [&](const Nest<Output>& x) {
    std::vector<Nest<Output>> results;
    for (const Output& output : row.build(x.flatten())) results.emplace_back(output);
    return Nest<Output>::tuple(results);
  });
}

// A batch of two equal rows.
Tensor twice(const Tensor& x) {
  Dims dims{2};
  dims.insert(dims.end(), x.shape().begin(), x.shape().end());
  Tensor result(x.dtype(), Shape(dims));
  if (x.dtype() == DType::string) {
    for (size_t i = 0; i < result.data<std::string>().size(); ++i) {
      result.data<std::string>()[i] =
          x.data<std::string>()[i % static_cast<size_t>(x.num_elements())];
    }
  } else {
    std::memcpy(result.raw(), x.raw(), static_cast<size_t>(x.byte_size()));
    std::memcpy(static_cast<char*>(result.raw()) + x.byte_size(), x.raw(),
                static_cast<size_t>(x.byte_size()));
  }
  return result;
}

void check(const Row& row) {
  SCOPED_TRACE(row.name);
  if (!row.error.empty()) {
    try {
      function_of(row)(row.inputs);
      ADD_FAILURE() << "no error, expected " << row.error;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(row.error));
    }
    return;
  }
  const HostFunction f = function_of(row);
  const std::vector<Tensor> results = f(row.inputs);
  ASSERT_EQ(results.size(), row.expected.size());
  for (size_t i = 0; i < results.size(); ++i) expect_same(results[i], row.expected[i]);
  EXPECT_EQ(f.vectorized().has_value(), row.row_wise);
  if (!row.row_wise) return;
  std::vector<Tensor> batches;
  for (const Tensor& input : row.inputs) batches.push_back(twice(input));
  const std::vector<Tensor> rows = (*f.vectorized())(batches);
  for (size_t i = 0; i < rows.size(); ++i) expect_same(rows[i], twice(row.expected[i]));
}

void check_all(const std::vector<Row>& rows) {
  for (const Row& row : rows) check(row);
}

TEST(StringOps, Elementwise) {
  const Tensor words = strings_of({"", " A b ", "\xC3\xA4rger", "x\ty"});
  check_all({
      {"length",
       {words},
       [](auto& x) { return Inputs{string_length(x[0])}; },
       {vec<int32_t>({0, 5, 6, 3})}},
      {"length_utf8",
       {words},
       [](auto& x) { return Inputs{string_length(x[0], {.unit = "UTF8_CHAR"})}; },
       {vec<int32_t>({0, 5, 5, 3})}},
      {"length_unit",
       {words},
       [](auto& x) { return Inputs{string_length(x[0], {.unit = "x"})}; },
       {},
       "StringLength: unit, got 'x', expected 'BYTE' or 'UTF8_CHAR', node 'StringLength' at "
       "string_ops_test.cc:"},
      {"length_of_numbers",
       {vec<float>({1})},
       [](auto& x) { return Inputs{string_length(x[0])}; },
       {},
       "StringLength: input, got f32[1], expected strings"},
      {"strip",
       {words},
       [](auto& x) { return Inputs{string_strip(x[0])}; },
       {strings_of({"", "A b", "\xC3\xA4rger", "x\ty"})}},
      {"lower",
       {words},
       [](auto& x) { return Inputs{string_lower(x[0])}; },
       {strings_of({"", " a b ", "\xC3\xA4rger", "x\ty"})}},
      {"upper",
       {words},
       [](auto& x) { return Inputs{string_upper(x[0])}; },
       {strings_of({"", " A B ", "\xC3\xA4RGER", "X\tY"})}},
  });
}

TEST(StringOps, Patterns) {
  const Tensor words = strings_of({"", " A b "});
  check_all({
      {"replace",
       {strings_of({"a1b22", "none"})},
       [](auto& x) { return Inputs{regex_replace(x[0], "([0-9]+)", "<\\1>")}; },
       {strings_of({"a<1>b<22>", "none"})}},
      {"replace_first",
       {strings_of({"a1b22"})},
       [](auto& x) { return Inputs{regex_replace(x[0], "[0-9]+", "", {.replace_global = false})}; },
       {strings_of({"ab22"})}},
      {"replace_pattern",
       {words},
       [](auto& x) { return Inputs{regex_replace(x[0], "(", "")}; },
       {},
       "StaticRegexReplace: pattern, got '(', expected a regular expression of RE2"},
      {"replace_rewrite",
       {words},
       [](auto& x) { return Inputs{regex_replace(x[0], "a", "\\1")}; },
       {},
       "StaticRegexReplace: rewrite, got '\\1', expected one that fits the pattern"},
      {"full_match",
       {strings_of({"ab", "abc"})},
       [](auto& x) { return Inputs{regex_full_match(x[0], "a.")}; },
       {Tensor::of<bool>({2}, {true, false})}},
      {"equal",
       {strings_of({"a", "b"}), strings_of({"b", "b"})},
       [](auto& x) {
         return Inputs{equal(x[0], x[1]), not_equal(x[0], Tensor("a"))};
       },
       {Tensor::of<bool>({2}, {false, true}), Tensor::of<bool>({2}, {false, true})}},
      {"choose",
       {Tensor::of<bool>({2}, {true, false}), strings_of({"a", "b"})},
       [](auto& x) { return Inputs{where_v2(x[0], x[1], Tensor("no"))}; },
       {strings_of({"a", "no"})}},
  });
}

TEST(StringOps, Parts) {
  const Tensor words = strings_of({"hello", "\xC3\xA4hre"});
  const auto part = [](int pos, int len, const std::string& unit) {
    return [=](auto& x) { return Inputs{substr(x[0], pos, len, {.unit = unit})}; };
  };
  check_all({
      {"substr", {words}, part(1, 3, "BYTE"), {strings_of({"ell", "\xA4hr"})}},
      {"substr_utf8", {words}, part(0, 2, "UTF8_CHAR"), {strings_of({"he", "\xC3\xA4h"})}},
      {"substr_end", {words}, part(-2, 10, "BYTE"), {strings_of({"lo", "re"})}},
      {"substr_outside",
       {words},
       part(6, 1, "BYTE"),
       {},
       "Substr: pos, got 6 in 'hello' of length 5, expected in [-5, 5]"},
      {"substr_each",
       {words, vec<int64_t>({0, 2}), vec<int64_t>({1, 2})},
       [](auto& x) { return Inputs{substr(x[0], x[1], x[2])}; },
       {strings_of({"h", "hr"})}},
      {"substr_dtype",
       {words},
       [](auto& x) { return Inputs{substr(x[0], 0.5, 1)}; },
       {},
       "Substr: pos, got f32[], expected s32 or s64 of shape [] or [2]"},
  });
}

TEST(StringOps, JoinAndSplit) {
  check_all({
      {"join",
       {strings_of({"a", "b"}), strings_of({"c", "d"})},
       [](auto& x) {
         return Inputs{string_join({x[0], Tensor("-"), x[1]}, {.separator = "/"})};
       },
       {strings_of({"a/-/c", "b/-/d"})}},
      {"join_shapes",
       {strings_of({"a", "b"}), strings_of({"c"})},
       [](auto& x) {
         return Inputs{string_join({x[0], x[1]})};
       },
       {},
       "StringJoin: input 1, got shape [1], expected [] or [2]"},
      {"split",
       {strings_of({"a b  c", "", "d"})},
       [](auto& x) {
         const StringSplit parts = string_split(x[0]);
         return Inputs{parts.values, parts.lengths};
       },
       {Tensor::of<std::string>({3, 3}, {"a", "b", "c", "", "", "", "d", "", ""}),
        vec<int64_t>({3, 0, 1})},
       "",
       false},
      {"split_keeps_empty",
       {text("a,,b")},
       [](auto& x) {
         return Inputs{string_split_scalar(x[0], {.delimiter = ",", .skip_empty = false})};
       },
       {strings_of({"a", "", "b"})},
       "",
       false},
      {"split_bytes",
       {text("abc")},
       [](auto& x) { return Inputs{string_split_scalar(x[0], {.delimiter = ""})}; },
       {strings_of({"a", "b", "c"})},
       "",
       false},
  });
}

TEST(StringOps, Numbers) {
  check_all({
      {"as_string",
       {vec<float>({1.5F, -2})},
       [](auto& x) { return Inputs{as_string(x[0])}; },
       {strings_of({"1.500000", "-2.000000"})}},
      {"as_string_shortest",
       {vec<float>({1.5F, 1e20F})},
       [](auto& x) { return Inputs{as_string(x[0], {.shortest = true})}; },
       {strings_of({"1.5", "1e+20"})}},
      {"as_string_format",
       {vec<double>({3.14159})},
       [](auto& x) { return Inputs{as_string(x[0], {.precision = 2, .width = 8, .fill = "0"})}; },
       {strings_of({"00003.14"})}},
      {"as_string_ints",
       {vec<int32_t>({1, -200})},
       [](auto& x) { return Inputs{as_string(x[0], {.width = 4, .fill = "0"})}; },
       {strings_of({"0001", "-200"})}},
      {"as_string_signs",
       {vec<int32_t>({1, -20})},
       [](auto& x) { return Inputs{as_string(x[0], {.width = 4, .fill = "+"})}; },
       {strings_of({"  +1", " -20"})}},
      {"as_string_fill_without_width",
       {vec<int32_t>({1, -2})},
       [](auto& x) { return Inputs{as_string(x[0], {.fill = "+"})}; },
       {strings_of({"1", "-2"})}},
      {"as_string_u8",
       {vec<uint8_t>({255})},
       [](auto& x) { return Inputs{as_string(x[0])}; },
       {strings_of({"255"})}},
      {"as_string_bool",
       {Tensor::of<bool>({2}, {true, false})},
       [](auto& x) { return Inputs{as_string(x[0])}; },
       {strings_of({"true", "false"})}},
      {"as_string_precision_of_ints",
       {vec<int32_t>({1})},
       [](auto& x) { return Inputs{as_string(x[0], {.precision = 1})}; },
       {},
       "AsString: scientific, shortest or precision, got one for s32"},
  });
}

TEST(StringOps, ToNumbers) {
  check_all({
      {"to_f32",
       {strings_of({"1.5", " -2e3 ", "inf", "+7"})},
       [](auto& x) { return Inputs{string_to_number(x[0])}; },
       {vec<float>({1.5F, -2000, std::numeric_limits<float>::infinity(), 7})}},
      {"to_s64",
       {strings_of({"-9223372036854775808"})},
       [](auto& x) { return Inputs{string_to_number(x[0], {.out_type = DType::s64})}; },
       {vec<int64_t>({std::numeric_limits<int64_t>::min()})}},
      {"to_s32_range",
       {strings_of({"3000000000"})},
       [](auto& x) { return Inputs{string_to_number(x[0], {.out_type = DType::s32})}; },
       {},
       "StringToNumber: string, got '3000000000', expected a number of s32"},
      {"to_number_text",
       {strings_of({"1x"})},
       [](auto& x) { return Inputs{string_to_number(x[0])}; },
       {},
       "StringToNumber: string, got '1x', expected a number of f32"},
      {"to_number_empty",
       {strings_of({""})},
       [](auto& x) { return Inputs{string_to_number(x[0])}; },
       {},
       "got '', expected a number"},
  });
}

TEST(ParsingOps, Raw) {
  using namespace std::string_literals;
  check_all({
      {"u8",
       {text("\x01\xFF"s)},
       [](auto& x) { return Inputs{decode_raw(x[0], DType::u8)}; },
       {vec<uint8_t>({1, 255})}},
      {"s16_batch",
       {strings_of({"\x01\x00\x02\x00"s, "\x00\x01\xFF\xFF"s})},
       [](auto& x) { return Inputs{decode_raw(x[0], DType::s16)}; },
       {Tensor::of<int16_t>({2, 2}, {1, 2, 256, -1})}},
      {"big_endian",
       {text("\x01\x00\x00\x02"s)},
       [](auto& x) { return Inputs{decode_raw(x[0], DType::s16, {.little_endian = false})}; },
       {vec<int16_t>({256, 2})}},
      {"mnist",
       {text("\x00\x80\xFF\x01"s)},
       [](auto& x) {
         return Inputs{reshape(cast(decode_raw(x[0], DType::u8), DType::f32), {2, 2}) - 1};
       },
       {Tensor::of<float>({2, 2}, {-1, 127, 254, 0})}},
      {"length",
       {text("abc")},
       [](auto& x) { return Inputs{decode_raw(x[0], DType::f32)}; },
       {},
       "DecodeRaw: bytes, got a string of 3, expected a multiple of 4, the size of f32"},
      {"lengths",
       {strings_of({"ab", "c"})},
       [](auto& x) { return Inputs{decode_raw(x[0], DType::u8)}; },
       {},
       "DecodeRaw: bytes of element 1, got 1, expected 2 as in element 0"},
  });
}

TEST(ParsingOps, Csv) {
  const std::vector<Tensor> defaults{vec<int32_t>({7}), vec<float>({}), strings_of({"-"})};
  const auto decode = [&](const DecodeCsvOptions& options = {}) {
    return [&defaults, options](auto& x) { return decode_csv(x[0], defaults, options); };
  };
  check_all({
      {"lines",
       {strings_of({"1,2.5,a", ",3,", "4,5,\"x,\"\"y\"\"\"\r\n"})},
       decode(),
       {vec<int32_t>({1, 7, 4}), vec<float>({2.5F, 3, 5}), strings_of({"a", "-", "x,\"y\""})}},
      {"na",
       {text("?;1;?")},
       decode({.field_delim = ";", .na_value = "?"}),
       {Tensor(7), Tensor(1.0F), text("-")}},
      {"columns",
       {text("9,1,9,2,x")},
       decode({.select_cols = {1, 3, 4}}),
       {Tensor(1), Tensor(2.0F), text("x")}},
      {"required",
       {text("1,,a")},
       decode(),
       {},
       "DecodeCSV: field 1 of record 0, got none, expected a value: it has no default"},
      {"fields",
       {strings_of({"1,2,a", "1,2"})},
       decode(),
       {},
       "DecodeCSV: record 1, got 2 fields in '1,2', expected 3"},
      {"number",
       {text("x,2,a")},
       decode(),
       {},
       "DecodeCSV: field 0 of record 0, got 'x', expected a valid s32"},
      {"quote",
       {text("1,2,\"a")},
       decode(),
       {},
       "DecodeCSV: field 2, got '\"a', expected a closing quote at its end"},
      {"delimiter",
       {text("1")},
       decode({.field_delim = ", "}),
       {},
       "DecodeCSV: field_delim, got ', ', expected one character"},
  });
}

TEST(StringOps, RunInSessions) {
  Graph graph;
  const GraphScope scope(graph);
  const Output line = placeholder(DType::string, {}, "line");
  const Output numbers = string_to_number(string_split_scalar(line, {.delimiter = ","}));
  const Output total = reduce_sum(numbers);
  const Output report = string_join({Tensor("sum "), as_string(total, {.precision = 1})});
  Session session("", {.graph = &graph});
  const auto results = session.run({report, total, line}, {{line, text("1,2,3.5")}});
  EXPECT_EQ(results[0].item<std::string>(), "sum 6.5");
  EXPECT_EQ(results[1].item<float>(), 6.5F);
  EXPECT_EQ(results[2].item<std::string>(), "1,2,3.5");
  EXPECT_EQ(session.run(constant(Tensor("t"))).item<std::string>(), "t");
}

}  // namespace
}  // namespace systole
