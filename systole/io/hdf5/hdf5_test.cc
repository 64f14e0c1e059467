#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5/serial/hdf5.h>

#include <array>
#include <cmath>

#include "systole/base/float16.h"
#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/io/hdf5/hdf5_writer.h"
#include "systole/io/testing/golden.h"
#include "systole/io/wire/checksum_trailer.h"

namespace systole {
namespace {

using ::systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Hdf5Reader hdf5_of(std::string bytes) { return {"f.h5", std::move(bytes)}; }

std::string small_file() {
  Hdf5Writer writer("f.h5");
  writer.set_string("", "config", "{\"name\": \"model\"}");
  writer.add_array("layer/kernel:0", Tensor({2, 2}, {1.0F, 2.0F, 3.0F, 4.0F}));
  writer.set_strings("layer", "weight_names", std::vector<std::string>{"kernel:0", "b"});
  writer.add_group("empty");
  writer.set_strings("empty", "weight_names", {});
  // Without the checksum, which would find every damage.
  const std::string file = writer.finish();
  return std::string(checked_without_trailer("f.h5", file, kHdf5ChecksumMark));
}

// Everything in a file, or the first error. Visits at most `left` objects.
void visit(const Hdf5Reader& file, const std::string& path, int& left) {
  if (--left < 0) return;
  for (const std::string& name : file.attribute_names(path)) {
    EXPECT_LE(file.attribute(path, name).byte_size(), 1 << 20);
  }
  if (!file.is_group(path)) {
    EXPECT_LE(file.read(path).byte_size(), 1 << 20);
    return;
  }
  for (const std::string& name : file.children(path))
    visit(file, fmt::format("{}/{}", path, name), left);
}

// A file that the library makes by `write`, with the newest structures if `latest`.
std::string library_file(const std::function<void(hid_t)>& write, bool latest = false) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 16, false);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate("x", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  write(file);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  std::string bytes(static_cast<size_t>(H5Fget_file_image(file, nullptr, 0)), '\0');
  H5Fget_file_image(file, bytes.data(), bytes.size());
  H5Fclose(file);
  H5Pclose(access);
  return bytes;
}

void write_chunked(hid_t file, const char* name, bool compressed) {
  const std::array<hsize_t, 2> sizes = {7, 10};
  const std::array<hsize_t, 2> chunk = {3, 4};
  std::array<float, 70> values{};
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.5F;
  const hid_t space = H5Screate_simple(2, sizes.data(), nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk.data());
  if (compressed) {
    H5Pset_fletcher32(creation);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, 6);
  }
  const hid_t array =
      H5Dcreate2(file, name, H5T_IEEE_F32BE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Dwrite(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(array);
  H5Pclose(creation);
  H5Sclose(space);
}

TEST(Hdf5WriterTest, TwoFilesAreWrittenAtATime) {
  Hdf5Writer a("a.h5");
  Hdf5Writer b("b.h5");
  a.add_array("x", Tensor(1.0F));
  b.add_array("y", Tensor(2.0F));
  EXPECT_TRUE(Hdf5Reader("a.h5", a.finish()).contains("x"));
  EXPECT_TRUE(Hdf5Reader("b.h5", b.finish()).contains("y"));
}

TEST(Hdf5Test, ReadsWhatItWrote) {
  const Hdf5Reader file = hdf5_of(small_file());
  EXPECT_EQ(file.string("", "config"), "{\"name\": \"model\"}");
  EXPECT_THAT(file.children("/"), ElementsAre("empty", "layer"));
  EXPECT_THAT(file.strings("layer", "weight_names"), ElementsAre("kernel:0", "b"));
  EXPECT_EQ(file.attribute("empty", "weight_names").type(), (TensorType{DType::f64, {0}}));
  EXPECT_THAT(file.strings("empty", "weight_names"), ElementsAre());
  EXPECT_TRUE(file.read("layer/kernel:0").identical(Tensor({2, 2}, {1.0F, 2.0F, 3.0F, 4.0F})));
  EXPECT_TRUE(file.contains("layer/kernel:0"));
  EXPECT_FALSE(file.contains("layer/kernel:0/x"));
}

TEST(Hdf5Test, KeepsEveryDtypeAndShape) {
  Hdf5Writer writer("f.h5");
  const std::vector<Tensor> tensors = {
      Tensor(int64_t{-7}),
      Tensor({3}, std::vector<int8_t>{-1, 2, 3}),
      Tensor({2, 1}, std::vector<uint16_t>{65535, 7}),
      Tensor({1, 1, 2}, std::vector<double>{0.1, -3e300}),
      Tensor({2}, std::vector<float16>{float16(1.5F), float16(-0.25F)}),
      Tensor::zeros(DType::f32, {0, 4}),
  };
  for (size_t i = 0; i < tensors.size(); ++i) writer.add_array(fmt::format("t{}", i), tensors[i]);
  const Hdf5Reader file = hdf5_of(writer.finish());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_TRUE(file.read(fmt::format("t{}", i)).identical(tensors[i])) << i;
  }
}

TEST(Hdf5Test, ReadsGroupsOfManyNodesAndLongStrings) {
  Hdf5Writer writer("f.h5");
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    names.push_back(fmt::format("layer_{:04}", i));
    writer.add_array(names.back() + "/w", Tensor(static_cast<float>(i)));
  }
  const std::string text(200000, 'x');
  writer.set_string("", "long", text);
  writer.set_string("", "accents", "größe");
  const Hdf5Reader file = hdf5_of(writer.finish());
  EXPECT_EQ(file.children(""), names);
  EXPECT_EQ(file.read("layer_0777/w").item<float>(), 777.0F);
  EXPECT_EQ(file.string("", "long"), text);
  EXPECT_EQ(file.string("", "accents"), "größe");
}

TEST(Hdf5Test, EqualContentsGiveEqualBytes) { EXPECT_EQ(small_file(), small_file()); }

TEST(Hdf5Test, ReadsChunksAndFiltersOfTheLibrary) {
  const Hdf5Reader file = hdf5_of(library_file([](hid_t id) {
    write_chunked(id, "plain", false);
    write_chunked(id, "compressed", true);
  }));
  for (const char* name : {"plain", "compressed"}) {
    const Tensor values = file.read(name);
    ASSERT_EQ(values.type(), (TensorType{DType::f32, {7, 10}}));
    for (int64_t i = 0; i < 70; ++i) EXPECT_EQ(values.as_double(i), 0.5 * static_cast<double>(i));
  }
}

TEST(Hdf5Test, ReadsStringsOfEveryKind) {
  const auto write = [](hid_t file, const char* name, H5T_str_t padding, size_t size,
                        const void* at) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    if (size != H5T_VARIABLE) H5Tset_strpad(type, padding);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const hsize_t count = 2;
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t made = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(made, type, at);
    H5Aclose(made);
    H5Sclose(space);
    H5Tclose(type);
  };
  for (const bool latest : {false, true}) {
    const Hdf5Reader file = hdf5_of(library_file(
        [&](hid_t id) {
          // NOLINTBEGIN(bugprone-string-literal-with-embedded-nul): read as bytes
          write(id, "terminated", H5T_STR_NULLTERM, 4, "abc\0d\0ef");
          write(id, "padded", H5T_STR_NULLPAD, 4, "abcde\0\0\0");
          // NOLINTEND(bugprone-string-literal-with-embedded-nul)
          write(id, "spaces", H5T_STR_SPACEPAD, 4, "abc e   ");
          const std::array<const char*, 2> texts = {"first", "é"};
          write(id, "variable", H5T_STR_NULLTERM, H5T_VARIABLE, texts.data());
        },
        latest));
    EXPECT_THAT(file.strings("", "terminated"), ElementsAre("abc", "d"));
    EXPECT_THAT(file.strings("", "padded"), ElementsAre("abcd", "e"));
    EXPECT_THAT(file.strings("", "spaces"), ElementsAre("abc", "e"));
    EXPECT_THAT(file.strings("", "variable"), ElementsAre("first", "é"));
  }
}

TEST(Hdf5Test, RefusesWhatLeavesTheFile) {
  const Hdf5Reader file = hdf5_of(library_file([](hid_t id) {
    H5Lcreate_soft("/nowhere", id, "soft", H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t count = 4;
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, "/etc/passwd", 0, 16);
    H5Dclose(H5Dcreate2(id, "outside", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Pclose(creation);
    H5Sclose(space);
  }));
  EXPECT_THAT(error_of([&] { file.read("soft"); }),
              HasSubstr("f.h5: 'soft': 'soft' is a soft or external link"));
  EXPECT_THAT(error_of([&] { file.read("outside"); }), HasSubstr("its bytes are in other files"));
}

TEST(Hdf5Test, ErrorsNameFileAndObject) {
  const Hdf5Reader file = hdf5_of(small_file());
  EXPECT_EQ(error_of([&] { file.read("layer/kernel"); }),
            "NOT_FOUND: f.h5: 'layer/kernel': no 'kernel', did you mean 'kernel:0'?");
  EXPECT_THAT(error_of([&] { file.read("layer"); }), HasSubstr("'layer': got a group"));
  EXPECT_THAT(error_of([&] { file.string("layer", "config"); }),
              HasSubstr("no attribute 'config'"));
  EXPECT_THAT(error_of([] { hdf5_of("PK\x03\x04"); }), HasSubstr("f.h5: not an HDF5 file"));
  Hdf5Writer writer("f.h5");
  writer.add_array("a/b", Tensor(1.0F));
  EXPECT_THAT(error_of([&] { writer.add_array("a/b", Tensor(1.0F)); }),
              HasSubstr("f.h5: Unable to create link (name already exists): 'a/b'"));
  EXPECT_THAT(error_of([&] { writer.add_array("a/b/c", Tensor(1.0F)); }),
              HasSubstr("Unable to create group (name already exists): 'a/b'"));
}

TEST(Hdf5Test, TruncationAtEveryByteIsAnError) {
  const std::string bytes = small_file();
  int whole = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    try {
      const Hdf5Reader file = hdf5_of(bytes.substr(0, size));
      int left = 100;
      visit(file, "", left);
      ++whole;                // what is missing was free space
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): refused
    }
  }
  EXPECT_LT(whole, static_cast<int>(bytes.size()) / 2);
}

TEST(Hdf5Test, BitFlipsNeverCrash) {
  for (const std::string& seed :
       {small_file(), library_file([](hid_t id) { write_chunked(id, "compressed", true); })}) {
    std::string bytes = seed;
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const auto mask = static_cast<char>(1U << bit % 8);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
      try {
        const Hdf5Reader file = hdf5_of(bytes);
        int left = 100;
        visit(file, "", left);
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): refused
      }
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
    }
  }
}

// What another reader found in files of Keras.
class GoldenHdf5Test : public testing::GoldenTest {};

TEST_P(GoldenHdf5Test, EveryArrayReadsAsExpected) {
  for (const auto& [path, expected] : golden().expected("keras_h5").items()) {
    SCOPED_TRACE(path);
    Hdf5Reader file(default_file_system(), golden().path(path));
    for (const auto& [name, array] : expected.at("datasets").items()) {
      SCOPED_TRACE(name);
      const Tensor values = file.read(name);
      EXPECT_EQ(values.type().dtype, dtype_from_tf(array.at("dtype").get<std::string>()));
      testing::expect_golden_array(values, array);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenHdf5Test, testing::golden_folders(), testing::golden_name);

TEST(Hdf5Test, RefusesTheLatestFormatOfH5py) {
  const std::string path = testing::GoldenFolder::own().path("hdf5/h5py_latest.h5");
  EXPECT_THAT(error_of([&] { Hdf5Reader(default_file_system(), path).read("chunked"); }),
              ::testing::HasSubstr("expected the structures that h5py writes by default"));
}

}  // namespace
}  // namespace systole
