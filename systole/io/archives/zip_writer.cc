#include "systole/io/archives/zip_writer.h"

#include <archive.h>
#include <archive_entry.h>

#include <utility>

#include "systole/base/error.h"

namespace systole {
namespace {

constexpr time_t kFirstDosDate = 315'532'800;  // 1980-01-01, UTC
constexpr int kZipFileMode = 0644;

}  // namespace

struct ZipWriter::Impl {
  explicit Impl(std::string archive_name)
      : name(std::move(archive_name)), handle(archive_write_new()) {
    if (handle == nullptr) {
      throw make_error(Code::resource_exhausted, "{}: zip archive, got no memory", name);
    }
  }
  ~Impl() { archive_write_free(handle); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static la_ssize_t append(archive* handle, void* self, const void* bytes, size_t size) {
    try {
      static_cast<Impl*>(self)->bytes.append(static_cast<const char*>(bytes), size);
      return static_cast<la_ssize_t>(size);
    } catch (...) {
      archive_set_error(handle, ENOMEM, "no memory");
      return -1;
    }
  }

  void check(int status, std::string_view path) {
    if (status == ARCHIVE_OK) return;
    const char* const text = archive_error_string(handle);
    throw make_error(Code::internal, "{}: zip archive at '{}', got '{}', expected to add the file",
                     name, path, text == nullptr ? "no reason" : text);
  }

  std::string name;
  archive* handle;
  std::string bytes;
};

ZipWriter::ZipWriter(std::string name) : impl_(std::make_unique<Impl>(std::move(name))) {
  archive* const handle = impl_->handle;
  impl_->check(archive_write_set_format_zip(handle), "");
  impl_->check(archive_write_zip_set_compression_store(handle), "");
  impl_->check(archive_write_set_bytes_in_last_block(handle, 1), "");  // no padding
  impl_->check(archive_write_open(handle, impl_.get(), nullptr, Impl::append, nullptr), "");
}

ZipWriter::~ZipWriter() = default;

void ZipWriter::add(const std::string& path, std::string_view bytes) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  if (entry == nullptr) {
    throw make_error(Code::resource_exhausted, "{}: zip archive, got no memory", impl_->name);
  }
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), kZipFileMode);
  archive_entry_set_mtime(entry.get(), kFirstDosDate, 0);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  impl_->check(archive_write_header(impl_->handle, entry.get()), path);
  while (!bytes.empty()) {
    const la_ssize_t written = archive_write_data(impl_->handle, bytes.data(), bytes.size());
    if (written <= 0) impl_->check(ARCHIVE_FATAL, path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  impl_->check(archive_write_finish_entry(impl_->handle), path);
}

std::string ZipWriter::finish() {
  impl_->check(archive_write_close(impl_->handle), "the end");
  return std::move(impl_->bytes);
}

bool looks_like_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

}  // namespace systole
