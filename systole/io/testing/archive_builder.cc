#include "systole/io/testing/archive_builder.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstring>

#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/tables/npy.h"
#include "systole/io/wire/compression.h"

namespace systole::testing {
namespace {

void append_little(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  }
}

// A text with the zeros in it.
template <size_t Size>
std::string raw_text(const char (&text)[Size]) {
  return {text, Size - 1};
}

std::string deflated(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string tar_of(const ArchiveFiles& files) {
  std::string tar;
  for (const auto& [name, contents] : files) {
    std::string header(512, '\0');
    const auto put = [&](size_t at, const std::string& text) {
      header.replace(at, text.size(), text);
    };
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, fmt::format("{:011o}", contents.size()));
    put(136, "00000000000");
    put(148, "        ");
    put(156, name.ends_with('/') ? "5" : "0");
    put(257, "ustar");
    put(263, "00");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(148, fmt::format("{:06o}", sum) + std::string(1, '\0'));
    tar += header + contents;
    tar.resize((tar.size() + 511) / 512 * 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

std::string gzip_of(const std::string& bytes) {
  MemoryFileSystem files;
  const auto file = files.create("f");
  const auto stream = compress_into(*file, Compression::gzip, "f");
  stream->append(bytes);
  stream->close();
  file->close();
  return read_file(files, "f");
}

std::string zip_of(const ArchiveFiles& files, bool deflate) {
  std::string zip;
  std::string directory;
  for (const auto& [name, contents] : files) {
    const std::string data = deflate ? deflated(contents) : contents;
    std::string common;
    append_little(common, 20, 2);  // version
    append_little(common, 0, 2);
    append_little(common, deflate ? 8 : 0, 2);
    append_little(common, 0x21 << 16, 4);  // 1 January 1980
    append_little(common,
                  crc32(0, reinterpret_cast<const unsigned char*>(contents.data()),
                        static_cast<uInt>(contents.size())),
                  4);
    append_little(common, data.size(), 4);
    append_little(common, contents.size(), 4);
    append_little(common, name.size(), 2);
    append_little(common, 0, 2);
    directory += std::string("PK\x01\x02\x14\0", 6) + common;
    append_little(directory, 0, 10);
    append_little(directory, zip.size(), 4);
    directory += name;
    zip.append("PK\x03\x04").append(common).append(name).append(data);
  }
  const size_t at = zip.size();
  zip += directory + "PK\x05\x06";
  append_little(zip, 0, 4);
  append_little(zip, files.size(), 2);
  append_little(zip, files.size(), 2);
  append_little(zip, directory.size(), 4);
  append_little(zip, at, 4);
  append_little(zip, 0, 2);
  return zip;
}

std::string npy_of(const Tensor& array) {
  MemoryFileSystem files;
  write_npy(files, "f", array);
  return read_file(files, "f");
}

std::string npy_of_lists(const std::vector<std::vector<int32_t>>& lists) {
  std::string text =
      fmt::format("{{'descr': '|O', 'fortran_order': False, 'shape': ({},), }}", lists.size());
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string npy("\x93NUMPY\x01\0", 8);
  append_little(npy, text.size(), 2);
  npy += text;
  npy += raw_text(
      "\x80\x02"
      "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01"
      "b\x87R(K\x01J");
  append_little(npy, lists.size(), 4);
  npy += raw_text(
      "\x85"
      "cnumpy\ndtype\nU\x02O8K\0K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff"
      "\xff\xffK?tb\x89](");
  for (const auto& list : lists) {
    npy += "](";
    for (const int32_t item : list) {
      npy += 'J';
      append_little(npy, static_cast<uint32_t>(item), 4);
    }
    npy += 'e';
  }
  return npy + "etb.";
}

}  // namespace systole::testing
