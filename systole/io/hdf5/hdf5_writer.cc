#include "systole/io/hdf5/hdf5_writer.h"

#include <hdf5/serial/hdf5.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "systole/base/error.h"
#include "systole/base/mutex.h"
#include "systole/io/wire/checksum_trailer.h"

namespace systole {
namespace {

// Debian's library is not thread-safe, and prints its errors unless told not to.
class LibraryScope {
 public:
  LibraryScope() : lock_(mutex()) {
    ::H5open();
    ::H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    ::H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~LibraryScope() { ::H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;

 private:
  static Mutex& mutex() {
    static Mutex only;
    return only;
  }
  MutexLock lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

// An id of the library, closed at the end.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Id(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Id(const Hdf5Id&) = delete;
  Hdf5Id& operator=(const Hdf5Id&) = delete;
  Hdf5Id& operator=(Hdf5Id&&) = delete;

  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor)

 private:
  hid_t id_;
  Close close_;
};

// The type in the file; invalid_id for a dtype that HDF5 does not have.
hid_t file_type(DType dtype) {
  switch (dtype) {
    case DType::s8:
      return H5T_STD_I8LE;
    case DType::s16:
      return H5T_STD_I16LE;
    case DType::s32:
      return H5T_STD_I32LE;
    case DType::s64:
      return H5T_STD_I64LE;
    case DType::u8:
      return H5T_STD_U8LE;
    case DType::u16:
      return H5T_STD_U16LE;
    case DType::u32:
      return H5T_STD_U32LE;
    case DType::u64:
      return H5T_STD_U64LE;
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::f64:
      return H5T_IEEE_F64LE;
    default:
      return H5I_INVALID_HID;
  }
}

// IEEE half precision, which has no predefined type.
Hdf5Id half_type() {
  Hdf5Id type(::H5Tcopy(H5T_IEEE_F32LE), &::H5Tclose);
  ::H5Tset_fields(type, 15, 10, 5, 0, 10);
  ::H5Tset_size(type, 2);
  ::H5Tset_ebias(type, 15);
  return type;
}

std::string without_slashes(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path);
}

Hdf5Id string_type(size_t size, H5T_cset_t characters) {
  Hdf5Id type(::H5Tcopy(H5T_C_S1), &::H5Tclose);
  ::H5Tset_size(type, size);
  ::H5Tset_strpad(type, size == H5T_VARIABLE ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
  ::H5Tset_cset(type, characters);
  return type;
}

H5T_cset_t characters_of(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<signed char>(c) >= 0; });
  return ascii ? H5T_CSET_ASCII : H5T_CSET_UTF8;
}

constexpr size_t kImageGrowth = size_t{1} << 20U;  // bytes by which the library grows an image

}  // namespace

struct Hdf5Writer::State {
  std::string name;
  hid_t file = -1;
  std::set<std::string, std::less<>> groups;
  std::set<std::string, std::less<>> arrays;

  Error failed(std::string_view what, std::string_view path) const {
    return internal_error("{}: {} '{}' failed in the HDF5 library", name, what, path);
  }

  void make_groups(const std::string& path) {
    for (size_t end = path.find('/'); !path.empty(); end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (arrays.contains(part)) {
        throw make_error(Code::already_exists,
                         "{}: Unable to create group (name already exists): '{}' is an array", name,
                         part);
      }
      if (groups.insert(part).second) {
        const Hdf5Id group(::H5Gcreate2(file, part.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                           &::H5Gclose);
        if (group < 0) throw failed("group", part);
      }
      if (end == std::string::npos) break;
    }
  }

  void write_attribute(std::string_view object, std::string_view attribute, hid_t type, hid_t space,
                       const void* data) const {
    const std::string path = object.empty() ? "/" : std::string(object);
    const Hdf5Id owner(::H5Oopen(file, path.c_str(), H5P_DEFAULT), &::H5Oclose);
    if (owner < 0) throw not_found("{}: attribute '{}': no object '{}'", name, attribute, path);
    const std::string text(attribute);
    if (::H5Aexists(owner, text.c_str()) > 0) ::H5Adelete(owner, text.c_str());
    const Hdf5Id made(::H5Acreate2(owner, text.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                      &::H5Aclose);
    if (made < 0 || (data != nullptr && ::H5Awrite(made, type, data) < 0)) {
      throw failed(fmt::format("attribute '{}' of", attribute), path);
    }
  }
};

Hdf5Writer::Hdf5Writer(std::string name) : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  const LibraryScope scope;
  const Hdf5Id access(::H5Pcreate(H5P_FILE_ACCESS), &::H5Pclose);
  ::H5Pset_fapl_core(access, kImageGrowth, /*backing_store=*/false);
  // Files in memory of one name are one file to the library. The name is not in the bytes.
  const std::string image = fmt::format(
      "{}.h5", reinterpret_cast<uintptr_t>(state_.get()));  // unique among the open ones
  state_->file = ::H5Fcreate(image.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (state_->file < 0) throw state_->failed("file", state_->name);
}

Hdf5Writer::~Hdf5Writer() {
  if (state_->file < 0) return;
  const LibraryScope scope;
  ::H5Fclose(state_->file);
}

void Hdf5Writer::add_group(std::string_view path) {
  const LibraryScope scope;
  state_->make_groups(without_slashes(path));
}

void Hdf5Writer::add_array(std::string_view path, const Tensor& values) {
  const std::string at = without_slashes(path);
  const LibraryScope scope;
  if (state_->arrays.contains(at) || state_->groups.contains(at)) {
    throw make_error(Code::already_exists,
                     "{}: Unable to create link (name already exists): '{}' is there already",
                     state_->name, at);
  }
  const Hdf5Id half = half_type();
  const hid_t type =
      values.dtype() == DType::f16 ? static_cast<hid_t>(half) : file_type(values.dtype());
  if (type < 0) {
    throw invalid_argument("{}: '{}', got {}, expected integers, f16, f32 or f64", state_->name, at,
                           values.type());
  }
  if (const size_t slash = at.rfind('/'); slash != std::string::npos) {
    state_->make_groups(at.substr(0, slash));
  }
  const std::vector<hsize_t> sizes(values.shape().begin(), values.shape().end());
  const Hdf5Id space(sizes.empty() ? ::H5Screate(H5S_SCALAR)
                                   : ::H5Screate_simple(values.rank(), sizes.data(), nullptr),
                     &::H5Sclose);
  const Hdf5Id creation(::H5Pcreate(H5P_DATASET_CREATE), &::H5Pclose);
  ::H5Pset_obj_track_times(creation, false);  // equal values give equal files
  const Hdf5Id array(
      ::H5Dcreate2(state_->file, at.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
      &::H5Dclose);
  if (array < 0 || (values.num_elements() > 0 &&
                    ::H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.raw()) < 0)) {
    throw state_->failed("array", at);
  }
  state_->arrays.insert(at);
}

void Hdf5Writer::set_string(std::string_view object, std::string_view name, std::string_view text) {
  const LibraryScope scope;
  const Hdf5Id type = string_type(H5T_VARIABLE, characters_of(text));
  const Hdf5Id space(::H5Screate(H5S_SCALAR), &::H5Sclose);
  const std::string terminated(text);
  const char* const data = terminated.c_str();
  state_->write_attribute(object, name, type, space, static_cast<const void*>(&data));
}

void Hdf5Writer::set_strings(std::string_view object, std::string_view name,
                             std::span<const std::string> texts) {
  size_t longest = 1;
  H5T_cset_t characters = H5T_CSET_ASCII;
  for (const std::string& text : texts) {
    longest = std::max(longest, text.size());
    if (characters_of(text) == H5T_CSET_UTF8) characters = H5T_CSET_UTF8;
  }
  if (longest * texts.size() > kMaxAttributeBytes) {
    throw invalid_argument("{}: attribute '{}' of '{}', got {} bytes, expected at most {}",
                           state_->name, name, object, longest * texts.size(), kMaxAttributeBytes);
  }
  const LibraryScope scope;
  const hsize_t count = texts.size();
  const Hdf5Id space(::H5Screate_simple(1, &count, nullptr), &::H5Sclose);
  if (texts.empty()) {
    state_->write_attribute(object, name, H5T_IEEE_F64LE, space, nullptr);
    return;
  }
  std::string data;
  for (const std::string& text : texts) {
    data += text;
    data.append(longest - text.size(), '\0');
  }
  const Hdf5Id type = string_type(longest, characters);
  state_->write_attribute(object, name, type, space, data.data());
}

std::string Hdf5Writer::finish() {
  const LibraryScope scope;
  ::H5Fflush(state_->file, H5F_SCOPE_GLOBAL);
  const ssize_t size = ::H5Fget_file_image(state_->file, nullptr, 0);
  std::string bytes(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  if (size <= 0 || ::H5Fget_file_image(state_->file, bytes.data(), bytes.size()) != size) {
    throw state_->failed("image of", state_->name);
  }
  ::H5Fclose(std::exchange(state_->file, -1));
  append_checksum_trailer(bytes, kHdf5ChecksumMark);
  return bytes;
}

}  // namespace systole
