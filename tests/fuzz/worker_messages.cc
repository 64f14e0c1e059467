// Requests of a session, each after its length in two bytes, and the chunks of an upload: whatever
// they hold, the worker answers. The last request of a seed fetches what the others computed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "systole/base/error.h"
#include "systole/runtime/registry.h"
#include "systole/worker/operations.h"
#include "systole/worker/protocol/chunks.h"
#include "systole/worker/protocol/convert.h"

namespace worker = systole::worker;
namespace v1 = systole::worker::v1;

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 20;

void run_requests(std::string_view bytes) {
  const worker::WorkerLimits limits{.max_bytes = kMaxBytes};
  const auto account =
      worker::MemoryAccount::make(kMaxBytes, std::make_shared<worker::ByteCounter>(0),
                                  std::make_shared<worker::ByteCounter>(0));
  worker::CompileService compiler(10);
  worker::Transfers transfers(account);
  worker::Operations operations(systole::runtime::client("reference"), limits, account, compiler,
                                transfers);
  while (bytes.size() >= 2) {
    const size_t size = static_cast<uint8_t>(bytes[0]) | size_t{static_cast<uint8_t>(bytes[1])}
                                                             << 8;
    bytes.remove_prefix(2);
    const std::string_view part = bytes.substr(0, size);
    bytes.remove_prefix(part.size());
    v1::Request request;
    if (!request.ParseFromArray(part.data(), static_cast<int>(part.size()))) continue;
    v1::Reply reply;
    operations.run(request, reply);
    if (reply.ByteSizeLong() > static_cast<size_t>(4 * kMaxBytes)) std::abort();
  }
}

void read_chunks(std::string_view bytes) {
  std::vector<char> target(1024);
  worker::ChunkReader reader(target.data(), static_cast<int64_t>(target.size()));
  try {
    for (size_t at = 0; at < bytes.size(); at += 64) {
      const std::string_view part = bytes.substr(at, 64);
      const grpc::Slice slice(part.data(), part.size());
      grpc::ByteBuffer message(&slice, 1);
      if (reader.take(message)) return;
    }
  } catch (const systole::Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  run_requests(bytes);
  read_chunks(bytes);
  return 0;
}
