#include "systole/runtime/client.h"

#include <utility>

namespace systole::runtime {

Tensor Buffer::to_host() const {
  Tensor value;
  copy_to_host(value).wait();
  return value;
}

std::string Executable::serialize() const {
  throw unimplemented("Executable.serialize: this backend cannot write its programs");
}

std::unique_ptr<Executable> Client::deserialize(std::string_view) {
  throw unimplemented("Client.deserialize: {} cannot read compiled programs", platform());
}

MemoryStats Client::memory_stats(int) const {
  throw unimplemented("Client.memory_stats: {} cannot tell what its memory holds", platform());
}

std::vector<Tensor> run(Executable& executable, std::span<const Tensor> arguments,
                        const ExecuteOptions& options) {
  std::vector<Argument> given;
  given.reserve(arguments.size());
  for (const Tensor& argument : arguments) given.push_back({.host = &argument});
  std::vector<Tensor> values(executable.result_types().size());
  std::vector<Result> wanted;
  wanted.reserve(values.size());
  for (Tensor& value : values) wanted.push_back({.host = &value});
  executable.execute(given, wanted, options).wait();
  return values;
}

}  // namespace systole::runtime
