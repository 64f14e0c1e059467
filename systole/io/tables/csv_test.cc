#include "systole/io/tables/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "systole/io/file_systems/memory_file_system.h"

namespace systole {
namespace {

using ::testing::ElementsAre;
using Rows = std::vector<std::vector<std::string>>;

// A file of its own, which a reader may own.
class Text final : public RandomAccessFile {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  size_t read(uint64_t offset, size_t size, void* out) const override {
    return offset < text_.size() ? text_.copy(static_cast<char*>(out), size, offset) : 0;
  }
  uint64_t size() const override { return text_.size(); }
  const std::string& path() const override { return path_; }

 private:
  std::string text_;
  std::string path_ = "f.csv";
};

CsvReader reader_of(const std::string& text, CsvOptions options = {}) {
  return CsvReader(std::make_unique<Text>(text), options);
}

Rows rows_of(const std::string& text, CsvOptions options = {.header = false}) {
  CsvReader reader = reader_of(text, options);
  Rows rows;
  CsvRecord record;
  while (reader.next(record)) {
    rows.emplace_back();
    for (size_t i = 0; i < record.size(); ++i) rows.back().emplace_back(record[i]);
  }
  EXPECT_FALSE(reader.next(record));
  return rows;
}

std::string csv_error(const std::string& text, CsvOptions options = {.header = false}) {
  try {
    rows_of(text, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(CsvTest, PlainFields) {
  EXPECT_EQ(rows_of("a,b\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rows_of("a,b\r\n1,2\r\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rows_of("a,b\n1,2"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(rows_of(",\n , \n"), (Rows{{"", ""}, {" ", " "}}));
  EXPECT_EQ(rows_of("a,"), (Rows{{"a", ""}}));
  EXPECT_EQ(rows_of(""), Rows{});
  EXPECT_EQ(rows_of("\n\r\n\n"), Rows{});
}

TEST(CsvTest, QuotedFields) {
  EXPECT_EQ(rows_of("\"a,b\",\"c\"\"d\",\"\"\n"), (Rows{{"a,b", "c\"d", ""}}));
  EXPECT_EQ(rows_of("\"two\r\nlines\",x\r\n\"\"\"\",y"),
            (Rows{{"two\r\nlines", "x"}, {"\"", "y"}}));
}

TEST(CsvTest, Options) {
  EXPECT_EQ(rows_of("a;b,c\n", {.header = false, .delimiter = ';'}), (Rows{{"a", "b,c"}}));
  EXPECT_EQ(rows_of("a\n\nb\n", {.header = false}), (Rows{{"a"}, {"b"}}));
  EXPECT_EQ(rows_of("a\n\nb\n", {.header = false, .skip_blank_lines = false}),
            (Rows{{"a"}, {""}, {"b"}}));
  EXPECT_EQ(rows_of("\xEF\xBB\xBF"
                    "a,b\n"),
            (Rows{{"a", "b"}}));
}

TEST(CsvTest, Header) {
  CsvReader reader = reader_of("x,\"the class\"\n1,a\n");
  EXPECT_THAT(reader.header(), ElementsAre("x", "the class"));
  EXPECT_EQ(reader.column_index("the class"), 1U);
  try {
    (void)reader.column_index("the clas");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "NOT_FOUND: f.csv: column, got 'the clas', expected one of 'x', 'the class', did you "
        "mean 'the class'?");
  }
}

TEST(CsvTest, ErrorsNameFileLineAndColumn) {
  EXPECT_EQ(csv_error("a,b\n1,2,3\n"),
            "INVALID_ARGUMENT: f.csv:2: number of fields, got 3, expected 2");
  EXPECT_EQ(csv_error("a,b\n1,x\"y\n"),
            "INVALID_ARGUMENT: f.csv:2:4: field, got a quote inside it, expected quotes around the "
            "field");
  EXPECT_EQ(csv_error("a,\"b\"c\n"),
            "INVALID_ARGUMENT: f.csv:1:6: closing quote, got 'c' after it, expected ',' or the end "
            "of the "
            "line");
  EXPECT_EQ(csv_error("a,\"b\n\nc"),
            "INVALID_ARGUMENT: f.csv:1:3: quoted field, got the end of the file, expected a "
            "closing quote");
  EXPECT_EQ(csv_error("a\rb\n"),
            "INVALID_ARGUMENT: f.csv:1:2: carriage return, got 'b' after it, expected a line feed");
  EXPECT_EQ(csv_error("\"a\nb\",1\nx\n"),
            "INVALID_ARGUMENT: f.csv:3: number of fields, got 1, expected 2");
  EXPECT_EQ(
      csv_error("", {}),
      "INVALID_ARGUMENT: f.csv: header, got an empty file, expected the names of the columns");
  EXPECT_EQ(csv_error("x,y,x\n", {}),
            "INVALID_ARGUMENT: f.csv:1:5: column name, got 'x' twice, expected different names");
  EXPECT_EQ(
      csv_error("", {.delimiter = '"'}),
      "INVALID_ARGUMENT: f.csv: delimiter, got '\"', expected neither a quote nor a line end");
  EXPECT_EQ(
      csv_error("\"abcdef", {.header = false, .max_record_bytes = 3}),
      "RESOURCE_EXHAUSTED: f.csv:1: bytes of a record, got more than 3, expected fewer (is a quote "
      "left open?)");
  // A file of few bytes, when compressed, may have fields without end.
  EXPECT_EQ(
      csv_error(std::string((1 << 20) + 5, ','), {.header = false}),
      "RESOURCE_EXHAUSTED: f.csv:1: fields of a record, got more than 1048576, expected fewer");
}

TEST(CsvTest, LargerThanTheBuffer) {
  std::string text;
  for (int i = 0; i < 30000; ++i) text += std::to_string(i) + ",\"" + std::to_string(i) + "\"\r\n";
  const Rows rows = rows_of(text);
  ASSERT_EQ(rows.size(), 30000U);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_THAT(rows[i], ElementsAre(std::to_string(i), std::to_string(i)));
  }
}

// What is cut off gives the records before the cut, and of the last one a part or an error.
TEST(CsvTest, TruncationAtEveryByte) {
  const std::string text = "a,\"b\"\"\",c\r\n1,\"x\r\ny\",2\r\n3,,4\r\n";
  const Rows whole = rows_of(text);
  for (size_t size = 0; size < text.size(); ++size) {
    CsvReader reader = reader_of(text.substr(0, size), {.header = false});
    CsvRecord record;
    size_t count = 0;
    try {
      while (reader.next(record)) {
        if (count + 1 < whole.size() && size >= text.find("3,,")) {
          EXPECT_EQ(record[0], whole[count][0]);
        }
        ++count;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      EXPECT_TRUE(error.message().starts_with("f.csv:")) << error.message();
    }
    EXPECT_LE(count, whole.size());
  }
}

TEST(CsvTest, EveryByteValueAtEveryPlaceIsHandled) {
  const std::string text = "a,\"b\"\r\n1,2\r\n";
  for (size_t i = 0; i < text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[i] = static_cast<char>(byte);
      const std::string error = csv_error(changed);
      EXPECT_TRUE(error == "no error" || error.starts_with("INVALID_ARGUMENT: f.csv:")) << error;
    }
  }
}

TEST(CsvTest, ReadErrorsPassThrough) {
  MemoryFileSystem fs({{"f.csv", "a,b\n" + std::string(100000, 'x')}});
  CsvReader reader(fs.open("f.csv"));
  fs.inject({.at_operation = 0});
  CsvRecord record;
  EXPECT_THROW((void)reader.next(record), Error);
}

// "a\nb", an error, "c\n".
class Interrupted final : public ByteSource {
 public:
  size_t read(size_t size, void* out) override {
    const int call = calls_++;
    if (call == 1) throw make_error(Code::unavailable, "f.csv: busy");
    const std::string_view text = call == 0 ? "a\nb" : call == 2 ? "c\n" : "";
    return text.copy(static_cast<char*>(out), size);
  }
  void seek(uint64_t) override {}
  std::optional<uint64_t> left() const override { return std::nullopt; }
  const std::string& path() const override { return path_; }

 private:
  int calls_ = 0;
  std::string path_ = "f.csv";
};

TEST(CsvTest, NothingIsMadeUpBehindAReadError) {
  CsvReader reader(std::make_unique<Interrupted>(), {.header = false});
  CsvRecord record;
  EXPECT_TRUE(reader.next(record));
  EXPECT_THROW((void)reader.next(record), Error);
  EXPECT_TRUE(reader.next(record));
  EXPECT_EQ(record[0], "c");
}

TEST(CsvColumnsTest, ReadsTypedColumns) {
  CsvReader reader = reader_of("f,i,b,s\n1.5, 7 ,true,x\n-2e3,-8,0,\"y z\"\n");
  const std::vector<CsvColumn> columns = {
      {0, DType::f32}, {1, DType::s64}, {2, DType::pred}, {3, DType::string}, {0, DType::bf16}};
  const std::vector<Tensor> tensors = read_csv_columns(reader, columns);
  EXPECT_EQ(tensors[0].to_string(), "f32[2] {1.5, -2000}");
  EXPECT_EQ(tensors[1].to_string(), "s64[2] {7, -8}");
  EXPECT_EQ(tensors[2].to_string(), "pred[2] {true, false}");
  EXPECT_EQ(tensors[3].to_string(), "string[2] {\"x\", \"y z\"}");
  EXPECT_EQ(tensors[4].to_string(), "bf16[2] {1.5, -2000}");
}

TEST(CsvColumnsTest, ReadsInParts) {
  std::string text = "x\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  CsvReader reader = reader_of(text);
  const std::vector<CsvColumn> columns = {{0, DType::s32}, {0, DType::string}};
  for (const auto& [rows, begin] : {std::pair(3, 0), std::pair(600, 3), std::pair(397, 603)}) {
    const std::vector<Tensor> part = read_csv_columns(reader, columns, rows == 397 ? 1000 : rows);
    ASSERT_EQ(part[0].shape(), Shape({rows}));
    EXPECT_EQ(part[0].as_double(0), begin);
    EXPECT_EQ(part[0].as_double(rows - 1), begin + rows - 1);
    EXPECT_EQ(part[1].data<std::string>().back(), std::to_string(begin + rows - 1));
  }
  EXPECT_EQ(read_csv_columns(reader, columns)[1].shape(), Shape({0}));
}

std::string value_error(const std::string& value, DType dtype) {
  try {
    CsvReader reader = reader_of("x,y\n0," + value + "\n");
    const std::vector<CsvColumn> columns = {{1, dtype}};
    return read_csv_columns(reader, columns)[0].to_string();
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(CsvColumnsTest, ValuesThatAreNone) {
  EXPECT_EQ(value_error("abc", DType::f32),
            "INVALID_ARGUMENT: f.csv:2:3: value of column 'y', got 'abc', expected f32");
  for (const auto& [value, dtype] :
       {std::pair("", DType::f32), std::pair("1 2", DType::f32), std::pair("1.5", DType::s32),
        std::pair("300", DType::u8), std::pair("-1", DType::u8), std::pair("1e40", DType::f32),
        std::pair("1e9", DType::f16), std::pair("8", DType::s4), std::pair("2", DType::pred),
        std::pair("+-1", DType::s32), std::pair("0x10", DType::s32), std::pair("+", DType::f64)}) {
    EXPECT_THAT(value_error(value, dtype), ::testing::StartsWith("INVALID_ARGUMENT")) << value;
  }
}

TEST(CsvColumnsTest, ValuesAtTheEdge) {
  EXPECT_EQ(value_error("+1.5", DType::f32), "f32[1] {1.5}");
  EXPECT_EQ(value_error("1e-60", DType::f32), "f32[1] {0}");
  EXPECT_EQ(value_error("1e-400", DType::f64), "f64[1] {0}");
  EXPECT_EQ(value_error("inf", DType::f32), "f32[1] {inf}");
  EXPECT_EQ(value_error("nan", DType::f64), "f64[1] {nan}");
  EXPECT_EQ(value_error("-8", DType::s4), "s4[1] {-8}");
  EXPECT_EQ(value_error("255", DType::u8), "u8[1] {255}");
  EXPECT_EQ(value_error("18446744073709551615", DType::u64), "u64[1] {18446744073709551615}");
  EXPECT_EQ(value_error("2.5", DType::c64), "c64[1] {(2.5, 0)}");
}

TEST(CsvColumnsTest, AColumnThatIsNotThere) {
  CsvReader reader = reader_of("x\n1\n");
  const std::vector<CsvColumn> columns = {{1, DType::f32}};
  try {
    (void)read_csv_columns(reader, columns);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "f.csv: column, got 1, expected in [0, 1)");
  }
}

}  // namespace
}  // namespace systole
