#include "systole/io/wire/compression.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace systole {
namespace {

struct Name {
  Compression compression;
  std::string_view name;
  int window_bits;  // as zlib takes it: 15, and 16 more for gzip
};
constexpr std::array<Name, 3> kNames = {
    {{Compression::none, "", 0}, {Compression::zlib, "ZLIB", 15}, {Compression::gzip, "GZIP", 31}}};

const Name& row_of(Compression compression) {
  return *std::ranges::find(kNames, compression, &Name::compression);
}

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<RandomAccessFile> file) : file_(std::move(file)) {}

  size_t read(size_t size, void* out) override {
    const size_t got = file_->read(offset_, size, out);
    offset_ += got;
    return got;
  }

  void seek(uint64_t offset) override {
    const uint64_t size = file_->size();
    if (offset > size) {
      throw make_error(Code::out_of_range, "{}: offset, got {}, expected at most {}", path(),
                       offset, size);
    }
    offset_ = offset;
  }

  std::optional<uint64_t> left() const override {
    const uint64_t size = file_->size();
    return size - std::min(size, offset_);
  }

  const std::string& path() const override { return file_->path(); }

 private:
  std::unique_ptr<RandomAccessFile> file_;
  uint64_t offset_ = 0;
};

class ZlibSource final : public ByteSource {
 public:
  ZlibSource(std::unique_ptr<RandomAccessFile> file, Compression compression, size_t buffer_bytes)
      : file_(std::move(file)),
        compression_(compression),
        input_(std::clamp<size_t>(buffer_bytes, 1, 1U << 30U)) {
    if (inflateInit2(&stream_, row_of(compression).window_bits) != Z_OK) {
      throw make_error(Code::resource_exhausted, "{}: decompression, got no memory", path());
    }
  }
  ~ZlibSource() override { inflateEnd(&stream_); }
  ZlibSource(const ZlibSource&) = delete;
  ZlibSource& operator=(const ZlibSource&) = delete;

  size_t read(size_t size, void* out) override {
    size_t done = 0;
    while (done < size) {
      const size_t part = std::min<size_t>(size - done, 1U << 30U);
      try {
        const size_t got = inflate_some(part, static_cast<unsigned char*>(out) + done);
        if (got == 0) break;
        done += got;
      } catch (const Error&) {
        if (done == 0) throw;
        break;  // returns the bytes before it first; the next call finds it again
      }
    }
    offset_ += done;
    return done;
  }

  void seek(uint64_t offset) override {
    if (offset < offset_) restart();
    std::vector<char> skipped(64U << 10U);
    while (offset_ < offset) {
      const size_t part = std::min<uint64_t>(skipped.size(), offset - offset_);
      if (read(part, skipped.data()) == 0) {
        throw make_error(Code::out_of_range, "{}: offset, got {}, expected at most {}", path(),
                         offset, offset_);
      }
    }
  }

  std::optional<uint64_t> left() const override { return std::nullopt; }
  const std::string& path() const override { return file_->path(); }

 private:
  void restart() {
    inflateReset(&stream_);
    stream_.avail_in = 0;
    file_offset_ = 0;
    offset_ = 0;
    inside_ = false;
  }

  // Returns whether there is input.
  bool refill() {
    if (stream_.avail_in > 0) return true;
    const size_t got = file_->read(file_offset_, input_.size(), input_.data());
    file_offset_ += got;
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  // Returns at least one byte, or 0 at the end. REQUIRES: 0 < size <= 2^30.
  size_t inflate_some(size_t size, unsigned char* out) {
    stream_.next_out = out;
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (!refill()) {
        // TensorFlow treats an empty file as an empty stream.
        if (!inside_) return 0;
        if (stream_.msg != nullptr) fail(stream_.msg, "compressed data");  // at the very end
        fail("the end of the file", "the rest of the compressed data");
      }
      inside_ = true;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      const bool gives = stream_.avail_out < size;  // the next call reports damage after it
      if (status == Z_STREAM_END) {
        inside_ = false;
        if (compression_ == Compression::gzip) {
          inflateReset(&stream_);
        } else if (!gives && refill()) {
          fail("bytes after the end of the compressed data", "the end of the file");
        }
      } else if (status == Z_MEM_ERROR) {
        throw make_error(Code::resource_exhausted, "{}: decompression, got no memory", path());
      } else if (status != Z_OK && status != Z_BUF_ERROR && !gives) {
        fail(stream_.msg == nullptr ? "broken data" : stream_.msg, "compressed data");
      }
    }
    return size - stream_.avail_out;
  }

  [[noreturn]] void fail(std::string_view got, std::string_view expected) const {
    throw make_error(Code::data_loss, "{}: {} stream at offset {}, got {}, expected {}", path(),
                     row_of(compression_).name, file_offset_ - stream_.avail_in, got, expected);
  }

  std::unique_ptr<RandomAccessFile> file_;
  Compression compression_;
  std::vector<unsigned char> input_;
  z_stream stream_{};
  uint64_t file_offset_ = 0;  // of what follows input_
  uint64_t offset_ = 0;
  bool inside_ = false;  // a compressed stream has begun and not ended
};

class PassingFile final : public WritableFile {
 public:
  explicit PassingFile(WritableFile& below) : below_(below) {}
  void append(std::string_view bytes) override { below_.append(bytes); }
  void flush() override { below_.flush(); }
  void sync() override { below_.sync(); }
  void close() override { below_.flush(); }

 private:
  WritableFile& below_;
};

class ZlibFile final : public WritableFile {
 public:
  ZlibFile(WritableFile& below, Compression compression, std::string path, int level)
      : below_(below), path_(std::move(path)), output_(64U << 10U) {
    if (level < -1 || level > 9) {
      throw invalid_argument("{}: compression level, got {}, expected -1 to 9", path_, level);
    }
    const int status = deflateInit2(&stream_, level, Z_DEFLATED, row_of(compression).window_bits, 8,
                                    Z_DEFAULT_STRATEGY);
    if (status != Z_OK) {
      throw make_error(Code::resource_exhausted, "{}: compression, got no memory", path_);
    }
  }
  ~ZlibFile() override { deflateEnd(&stream_); }
  ZlibFile(const ZlibFile&) = delete;
  ZlibFile& operator=(const ZlibFile&) = delete;

  void append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, 1U << 30U);
      run(part, Z_NO_FLUSH);
      bytes.remove_prefix(part.size());
    }
  }
  void flush() override {
    run({}, Z_SYNC_FLUSH);
    below_.flush();
  }
  void sync() override {
    run({}, Z_SYNC_FLUSH);
    below_.sync();
  }
  void close() override {
    if (closed_) return;
    run({}, Z_FINISH);
    closed_ = true;
    below_.flush();
  }

 private:
  void run(std::string_view bytes, int mode) {
    if (closed_ || failed_) {
      throw failed_precondition("{}: write, got a file that {}, expected an open one", path_,
                                failed_ ? "failed before" : "is closed");
    }
    failed_ = true;  // unless the following returns
    stream_.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = output_.data();
      stream_.avail_out = static_cast<uInt>(output_.size());
      // Z_BUF_ERROR: a second flush in a row has nothing to do.
      (void)deflate(&stream_, mode);
      below_.append({reinterpret_cast<char*>(output_.data()), output_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
    failed_ = false;
  }

  WritableFile& below_;
  std::string path_;
  std::vector<unsigned char> output_;
  z_stream stream_{};
  bool closed_ = false;
  bool failed_ = false;
};

}  // namespace

Compression compression_from_tf(std::string_view name) {
  const auto row = std::ranges::find(kNames, name, &Name::name);
  if (row == kNames.end()) {
    throw invalid_argument("compression_type: name, got '{}', expected '', 'ZLIB' or 'GZIP'", name);
  }
  return row->compression;
}

std::string_view tf_name(Compression compression) { return row_of(compression).name; }

Compression sniff_compression(const RandomAccessFile& file) {
  std::array<unsigned char, 3> head{};
  if (file.read(0, head.size(), head.data()) < head.size()) return Compression::none;
  if (head[0] == 0x1f && head[1] == 0x8b && head[2] == 8) return Compression::gzip;
  // RFC 1950: deflate with a window of 32 KB, and a check that makes both bytes a multiple of 31.
  const bool zlib = head[0] == 0x78 && (head[0] * 256 + head[1]) % 31 == 0;
  return zlib ? Compression::zlib : Compression::none;
}

std::unique_ptr<ByteSource> open_source(std::unique_ptr<RandomAccessFile> file,
                                        Compression compression, size_t buffer_bytes) {
  if (compression == Compression::none) return std::make_unique<PlainSource>(std::move(file));
  return std::make_unique<ZlibSource>(std::move(file), compression, buffer_bytes);
}

std::unique_ptr<WritableFile> compress_into(WritableFile& below, Compression compression,
                                            std::string path, int level) {
  if (compression == Compression::none) return std::make_unique<PassingFile>(below);
  return std::make_unique<ZlibFile>(below, compression, std::move(path), level);
}

}  // namespace systole
