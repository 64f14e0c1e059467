#include "systole/io/archives/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace systole {
namespace {

constexpr size_t kArchiveBufferBytes = 1U << 20U;

}  // namespace

struct ArchiveReader::Impl {
  explicit Impl(std::unique_ptr<RandomAccessFile> opened)
      : file(std::move(opened)), buffer(kArchiveBufferBytes), handle(archive_read_new()) {
    if (handle == nullptr) {
      throw make_error(Code::resource_exhausted, "{}: archive, got no memory", file->path());
    }
  }
  ~Impl() { archive_read_free(handle); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static la_ssize_t read_some(archive* /*handle*/, void* self, const void** bytes) {
    auto& impl = *static_cast<Impl*>(self);
    try {
      const size_t got = impl.file->read(impl.offset, impl.buffer.size(), impl.buffer.data());
      impl.offset += got;
      *bytes = impl.buffer.data();
      return static_cast<la_ssize_t>(got);
    } catch (...) {
      impl.failure = std::current_exception();
      return -1;
    }
  }

  static la_int64_t seek(archive* /*handle*/, void* self, la_int64_t offset, int whence) {
    auto& impl = *static_cast<Impl*>(self);
    const auto size = static_cast<la_int64_t>(impl.file->size());
    la_int64_t from = 0;
    if (whence == SEEK_CUR) from = static_cast<la_int64_t>(impl.offset);
    if (whence == SEEK_END) from = size;
    la_int64_t to = 0;
    if (__builtin_add_overflow(from, offset, &to)) return ARCHIVE_FATAL;
    to = std::clamp<la_int64_t>(to, 0, size);
    impl.offset = static_cast<uint64_t>(to);
    return to;
  }

  // Throws the error of the last call.
  [[noreturn]] void fail(Code code, std::string_view expected) {
    if (failure != nullptr) std::rethrow_exception(std::exchange(failure, nullptr));
    const char* const text = archive_error_string(handle);
    throw make_error(code, "{}: archive{}, got '{}', expected {}", file->path(),
                     name.empty() ? "" : fmt::format(" at '{}'", name),
                     text == nullptr ? "broken data" : text, expected);
  }

  std::unique_ptr<RandomAccessFile> file;
  std::vector<char> buffer;
  uint64_t offset = 0;
  std::exception_ptr failure;
  archive* handle;
  std::string name;
  bool started = false;
};

ArchiveReader::ArchiveReader(FileSystem& file_system, const std::string& path)
    : impl_(std::make_unique<Impl>(file_system.open(path))) {
  archive* const handle = impl_->handle;
  archive_read_support_filter_gzip(handle);
  archive_read_support_filter_bzip2(handle);
  archive_read_support_filter_xz(handle);
  archive_read_support_filter_zstd(handle);
  archive_read_support_format_tar(handle);
  // Finds the files by the directory at the end, so that a truncated file is noticed.
  archive_read_support_format_zip_seekable(handle);
  archive_read_set_read_callback(handle, Impl::read_some);
  archive_read_set_seek_callback(handle, Impl::seek);
  archive_read_set_callback_data(handle, impl_.get());
  if (archive_read_open1(handle) != ARCHIVE_OK) {
    impl_->fail(Code::invalid_argument, "a tar or zip archive");
  }
}

ArchiveReader::~ArchiveReader() = default;

bool ArchiveReader::next() {
  while (true) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(impl_->handle, &entry);
    if (status == ARCHIVE_EOF) return false;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) {
      impl_->fail(impl_->started ? Code::data_loss : Code::invalid_argument,
                  impl_->started ? "the next file" : "a tar or zip archive");
    }
    impl_->started = true;
    const char* const path = archive_entry_pathname(entry);
    impl_->name = path == nullptr ? "" : path;
    if (archive_entry_filetype(entry) == AE_IFREG && path != nullptr) return true;
  }
}

const std::string& ArchiveReader::name() const { return impl_->name; }

std::string ArchiveReader::read(uint64_t max_bytes) {
  std::string result;
  while (true) {
    const void* bytes = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(impl_->handle, &bytes, &size, &offset);
    if (status == ARCHIVE_EOF) return result;
    // A wrong checksum is a warning.
    if (status != ARCHIVE_OK) impl_->fail(Code::data_loss, "the rest of the file");
    const auto begin = static_cast<uint64_t>(offset);
    if (begin > max_bytes || size > max_bytes - begin) {
      throw make_error(Code::resource_exhausted,
                       "{}: size of '{}', got more than {} bytes, expected at most as many",
                       impl_->file->path(), impl_->name, max_bytes);
    }
    // Sparse files of tar have gaps, which are zeros.
    if (begin > result.size()) result.resize(begin, '\0');
    result.append(static_cast<const char*>(bytes), size);
  }
}

}  // namespace systole
