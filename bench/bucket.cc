// Reads 64 objects of 16 MB from a bucket of a server on this machine, as eight readers of TFRecord
// files do. The limit is `curl` with as many connections.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/figures.h"
#include "systole/io/buckets/bucket_file_system.h"
#include "systole/io/buckets/gcs_store.h"
#include "systole/io/testing/http_server.h"

namespace bench {
namespace {

constexpr int kObjects = 64;
constexpr size_t kObjectBytes = 16'000'000;
constexpr int kReaders = 8;
constexpr int kConnections = 32;  // eight readers with up to four blocks of 4 MiB under way
constexpr size_t kReadBytes = size_t{256} << 10;
constexpr size_t kCacheBytes = size_t{128} << 20;

// The server in a process of its own. It ends with this program.
class ObjectServer {
 public:
  ObjectServer() {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe(in.data()) != 0 || ::pipe(out.data()) != 0) throw std::runtime_error("pipe failed");
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      ::close(in[1]);
      ::execl("/proc/self/exe", "systole_bench", "--serve-objects", nullptr);
      ::_exit(1);
    }
    ::close(in[0]);
    ::close(out[1]);
    std::array<char, 64> line{};
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> reader(::fdopen(out[0], "r"),
                                                                 std::fclose);
    if (std::fgets(line.data(), line.size(), reader.get()) == nullptr) {
      throw std::runtime_error("the server of objects did not start");
    }
    url_ = line.data();
    while (url_.ends_with('\n')) url_.pop_back();
  }

  static const ObjectServer& instance() {
    static const ObjectServer server;
    return server;
  }

  const std::string& url() const { return url_; }

 private:
  std::string url_;
};

systole::buckets::BucketFileSystem& bucket_files() {
  static auto* const files = new systole::buckets::BucketFileSystem(
      systole::buckets::make_gcs_store(
          {.endpoint = ObjectServer::instance().url(), .authenticate = false}),
      {.cache_bytes = kCacheBytes});
  return *files;
}

void read_objects(benchmark::State& state) {
  static int round = 0;
  for (auto _ : state) {
    ++round;  // other names, so that nothing is in the cache
    std::vector<std::thread> readers;
    for (int reader = 0; reader < kReaders; ++reader) {
      readers.emplace_back([reader] {
        const auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
        for (int i = reader; i < kObjects; i += kReaders) {
          const auto file = bucket_files().open(fmt::format("gs://bucket/{}-{}", round, i));
          uint64_t offset = 0;
          while (const size_t count = file->read(offset, kReadBytes, buffer.get())) offset += count;
          if (offset != kObjectBytes) std::abort();
        }
      });
    }
    for (std::thread& reader : readers) reader.join();
  }
  if (bucket_files().cache().peak_bytes() > kCacheBytes) {
    state.SkipWithError("the cache is larger than its limit");
  }
}

void curl_objects(benchmark::State& state) {
  const std::string command = fmt::format(
      "curl -s --parallel --parallel-immediate --parallel-max {} -o /dev/null "
      "'{}/storage/v1/b/bucket/o/[1-{}]?alt=media'",
      kConnections, ObjectServer::instance().url(), kObjects);
  for (auto _ : state) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs
    if (std::system(command.c_str()) != 0) state.SkipWithError("curl failed");
  }
}

}  // namespace

bool serve_objects() {
  std::string bytes(kObjectBytes, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 13U);
  const auto contents = std::make_shared<const std::string>(std::move(bytes));
  const systole::testing::HttpServer server([&](const systole::testing::ServerRequest& request) {
    if (request.param("alt") == "media")
      return systole::testing::ServerResponse{.contents = contents};
    return systole::testing::ServerResponse{
        .body = fmt::format(R"({{"name": "o", "size": "{}", "generation": "1"}})", kObjectBytes)};
  });
  fmt::print("{}\n", server.url());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return true;
}

void add_bucket_figures() {
  add({.name = "bucket.read",
       .unit = "GB/s",
       .work = 1e-9 * kObjects * kObjectBytes,
       .ours = read_objects,
       .limit = curl_objects,
       .repetitions = 5});
}

}  // namespace bench
