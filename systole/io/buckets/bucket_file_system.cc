#include "systole/io/buckets/bucket_file_system.h"

#include <algorithm>
#include <set>

#include "systole/base/environment.h"
#include "systole/base/number_text.h"
#include "systole/io/buckets/bucket_files.h"
#include "systole/io/buckets/object_names.h"

namespace systole::buckets {
namespace {

Error path_error(Code code, const std::string& path, std::string_view what, std::string_view got) {
  return make_error(code, "{}: {}, got '{}'", path, what, got);
}

constexpr std::string_view kMissing = "No such file or directory";

ObjectName marker_of(const ObjectName& directory) {
  return {directory.bucket, directory.key + "/"};
}

std::string prefix_of(const ObjectName& directory) {
  return directory.key.empty() ? "" : directory.key + "/";
}

// Reads a number of the environment; nullopt if the variable is not set.
std::optional<int64_t> environment_number(const char* name) {
  const std::string text = environment_value(name);
  if (text.empty()) return std::nullopt;
  const auto number = parse_number<int64_t>(text);
  if (!number || *number < 0 || *number > 1'000'000) {
    throw invalid_argument("{}: value, got '{}', expected a number from 0 to 1000000", name, text);
  }
  return number;
}

}  // namespace

BucketOptions bucket_options_from_environment() {
  BucketOptions options;
  if (const auto megabytes = environment_number("SYSTOLE_BUCKET_CACHE_MB")) {
    options.cache_bytes = static_cast<size_t>(*megabytes) << 20U;
  }
  if (const auto seconds = environment_number("SYSTOLE_BUCKET_FLUSH_SECONDS")) {
    options.flush_interval = std::chrono::seconds(*seconds);
  }
  if (const auto seconds = environment_number("SYSTOLE_BUCKET_LOCK_SECONDS")) {
    options.lock_lease = std::chrono::seconds(std::max<int64_t>(*seconds, 1));
  }
  return options;
}

BucketFileSystem::BucketFileSystem(std::unique_ptr<ObjectStore> store, const BucketOptions& options)
    : store_(std::move(store)), options_(options), cache_(options.cache_bytes) {}

BucketFileSystem::~BucketFileSystem() = default;

ObjectName BucketFileSystem::parse(const std::string& path) const {
  const std::string root = std::string(store_->scheme()) + "://";
  if (!path.starts_with(root)) {
    throw invalid_argument("{}: path, got no {} at its start, expected {}bucket/name", path, root,
                           root);
  }
  std::vector<std::string_view> names;
  const std::string_view rest = std::string_view(path).substr(root.size());
  for (size_t begin = 0; begin <= rest.size();) {
    const size_t end = std::min(rest.find('/', begin), rest.size());
    const std::string_view name = rest.substr(begin, end - begin);
    if (name == "..") {
      if (names.size() < 2) {
        throw invalid_argument("{}: path, got '..' at the bucket, expected a path inside it", path);
      }
      names.pop_back();
    } else if (!name.empty() && name != ".") {
      names.push_back(name);
    }
    begin = end + 1;
  }
  if (names.empty() || rest.starts_with('/')) {
    throw invalid_argument("{}: path, got no bucket, expected {}bucket/name", path, root);
  }
  ObjectName result{.bucket = std::string(names.front())};
  for (size_t i = 1; i < names.size(); ++i) {
    result.key += (i == 1 ? "" : "/") + std::string(names[i]);
  }
  check_object_name(store_->scheme(), path, result);
  return result;
}

bool BucketFileSystem::directory_exists(const ObjectName& name) {
  ListRequest request{.bucket = name.bucket, .prefix = prefix_of(name), .max_objects = 1};
  do {
    const ObjectPage page = store_->list(request);
    if (!page.objects.empty() || !page.prefixes.empty()) return true;
    request.token = page.next;
  } while (!request.token.empty());
  return name.key.empty();  // an empty bucket
}

std::unique_ptr<RandomAccessFile> BucketFileSystem::open(const std::string& path) {
  ObjectName name = parse(path);
  auto info = name.key.empty() ? std::nullopt : store_->find(name);
  if (info) return open_object(*store_, cache_, options_, path, std::move(name), std::move(*info));
  if (directory_exists(name)) {
    throw path_error(Code::failed_precondition, path, "cannot open", "Is a directory");
  }
  throw path_error(Code::not_found, path, "cannot open", kMissing);
}

std::unique_ptr<WritableFile> BucketFileSystem::create(const std::string& path) {
  ObjectName name = parse(path);
  const auto info = name.key.empty() ? std::nullopt : store_->find(name);
  if (!info && directory_exists(name)) {
    throw path_error(Code::failed_precondition, path, "cannot create", "Is a directory");
  }
  return create_object(*store_, options_, path, std::move(name),
                       {.any = false, .version = info ? info->version : ""});
}

bool BucketFileSystem::exists(const std::string& path) {
  const ObjectName name = parse(path);
  if (!name.key.empty() && store_->find(name)) return true;
  try {
    return directory_exists(name);
  } catch (const Error& error) {
    if (error.code() == Code::not_found) return false;  // no such bucket
    throw;
  }
}

FileStat BucketFileSystem::stat(const std::string& path) {
  const ObjectName name = parse(path);
  const auto info = name.key.empty() ? std::nullopt : store_->find(name);
  if (info) return {.size = info->size, .modified_ns = info->modified_ns};
  if (directory_exists(name)) return {.is_directory = true};
  throw path_error(Code::not_found, path, "cannot stat", kMissing);
}

std::vector<std::string> BucketFileSystem::list(const std::string& directory) {
  const ObjectName name = parse(directory);
  ListRequest request{.bucket = name.bucket, .prefix = prefix_of(name), .directory = true};
  std::set<std::string> names;
  bool found = name.key.empty();
  do {
    const ObjectPage page = store_->list(request);
    found = found || !page.objects.empty() || !page.prefixes.empty();
    const auto add = [&](std::string_view path) {
      path.remove_prefix(request.prefix.size());
      if (path.ends_with('/')) path.remove_suffix(1);
      if (!path.empty()) names.emplace(path);
    };
    for (const ObjectInfo& object : page.objects) add(object.key);
    for (const std::string& prefix : page.prefixes) add(prefix);
    request.token = page.next;
  } while (!request.token.empty());
  if (!found) {
    const bool file = store_->find(name).has_value();
    throw path_error(file ? Code::failed_precondition : Code::not_found, directory, "cannot list",
                     file ? "Not a directory" : kMissing);
  }
  return {names.begin(), names.end()};
}

void BucketFileSystem::write_marker(const ObjectName& directory) {
  const auto upload = store_->upload(marker_of(directory), {}, nullptr);
  upload->write("");
  upload->finish();
}

void BucketFileSystem::make_directories(const std::string& directory) {
  const ObjectName name = parse(directory);
  if (directory_exists(name)) return;
  for (size_t end = name.key.find('/'); true; end = name.key.find('/', end + 1)) {
    if (store_->find({name.bucket, name.key.substr(0, end)})) {
      throw path_error(Code::failed_precondition, directory, "cannot make a directory",
                       "Not a directory");
    }
    if (end == std::string::npos) break;
  }
  write_marker(name);
}

std::vector<ObjectInfo> BucketFileSystem::objects_below(const std::string& bucket,
                                                        const std::string& prefix) {
  ListRequest request{.bucket = bucket, .prefix = prefix};
  std::vector<ObjectInfo> objects;
  do {
    ObjectPage page = store_->list(request);
    std::ranges::move(page.objects, std::back_inserter(objects));
    request.token = page.next;
  } while (!request.token.empty());
  return objects;
}

void BucketFileSystem::rename_directory(const std::string& path, const ObjectName& from,
                                        const ObjectName& to) {
  const std::vector<ObjectInfo> objects = objects_below(from.bucket, prefix_of(from));
  if (objects.empty()) throw path_error(Code::not_found, path, "cannot rename", kMissing);
  for (const ObjectInfo& object : objects) {
    store_->copy({from.bucket, object.key}, object,
                 {to.bucket, prefix_of(to) + object.key.substr(prefix_of(from).size())}, {});
  }
  for (const ObjectInfo& object : objects) store_->remove({from.bucket, object.key});
}

void BucketFileSystem::rename(const std::string& from, const std::string& to) {
  const ObjectName source = parse(from);
  const ObjectName target = parse(to);
  const std::string what = fmt::format("cannot rename to {}", to);
  const auto info = source.key.empty() ? std::nullopt : store_->find(source);
  if (!info && !directory_exists(source)) throw path_error(Code::not_found, from, what, kMissing);
  if (source.bucket == target.bucket && source.key == target.key) return;
  if (!info && source.bucket == target.bucket && target.key.starts_with(prefix_of(source))) {
    throw path_error(Code::invalid_argument, from, what, "a directory inside itself");
  }
  const auto replaced = target.key.empty() ? std::nullopt : store_->find(target);
  if ((!replaced && directory_exists(target)) || (replaced && !info)) {
    throw path_error(Code::failed_precondition, from, what, "a directory in the way");
  }
  if (!info) return rename_directory(from, source, target);
  store_->copy(source, *info, target, {.any = false, .version = replaced ? replaced->version : ""});
  store_->remove(source);
}

void BucketFileSystem::touch(const std::string& path) {
  const ObjectName name = parse(path);
  const auto info = name.key.empty() ? std::nullopt : store_->find(name);
  if (!info) throw path_error(Code::not_found, path, "cannot touch", kMissing);
  store_->copy(name, *info, name, {.any = false, .version = info->version});
}

void BucketFileSystem::remove(const std::string& path) {
  const ObjectName name = parse(path);
  if (!name.key.empty() && store_->find(name)) return store_->remove(name);
  ListRequest request{.bucket = name.bucket, .prefix = prefix_of(name), .max_objects = 2};
  ObjectPage page;
  do {
    page = store_->list(request);
    request.token = page.next;
  } while (page.objects.empty() && !request.token.empty());
  if (page.objects.empty()) throw path_error(Code::not_found, path, "cannot remove", kMissing);
  if (name.key.empty() || page.objects.size() > 1 || page.objects[0].key != request.prefix) {
    throw path_error(Code::failed_precondition, path, "cannot remove", "Directory not empty");
  }
  store_->remove(marker_of(name));
}

}  // namespace systole::buckets
