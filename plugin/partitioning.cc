#include "plugin/partitioning.h"

#include <fmt/ranges.h>

#include <atomic>
#include <string>

#include "plugin/shardings.h"
#include "systole/base/error.h"
#include "systole/hlo/ir/placement.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::plugin {
namespace {

// These return null, or the message of an error, which stays until the thread's next call.
using Inspector = const char* (*)(const char* key, size_t key_size, const char* sharding,
                                  size_t sharding_size);
// The reply stays until the thread's next call, too.
using Partitioner = const char* (*)(const char* request, size_t request_size, const char** reply,
                                    size_t* reply_size);
std::atomic<Inspector> inspector = nullptr;
std::atomic<Partitioner> partitioner = nullptr;

// The text of an attribute that is a string, without its quotes.
std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

// A value in JSON: {"dtype": "float32", "dims": [4, 8], "sharding": "0803..."}.
std::string json_of(const TensorType& type, const hlo::Sharding& sharding, int num_devices) {
  std::string digits;
  for (const unsigned char byte : encode_sharding(sharding, num_devices)) {
    digits += fmt::format("{:02x}", byte);
  }
  return fmt::format(R"({{"dtype": "{}", "dims": [{}], "sharding": "{}"}})",
                     dtype_info(type.dtype).tf_name,
                     fmt::join(type.shape.begin(), type.shape.end(), ", "), digits);
}

std::string request_of(const hlo::Instruction& call, std::span<const hlo::Sharding> operands,
                       std::span<const hlo::Sharding> results, int num_devices) {
  std::vector<std::string> given;
  std::vector<std::string> wanted;
  for (size_t i = 0; i < operands.size(); ++i) {
    given.push_back(json_of(call.operand(static_cast<int>(i)).type(), operands[i], num_devices));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    wanted.push_back(json_of(call.results()[i], results[i], num_devices));
  }
  return fmt::format(R"({{"key": "{}", "operands": [{}], "results": [{}]}})",
                     unquoted(call.attrs<hlo::CustomCallAttrs>().backend_config.text),
                     fmt::join(given, ", "), fmt::join(wanted, ", "));
}

// Takes a line off the text.
std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// A line for the sharding of each operand and result, then the program of a device.
hlo::CustomPartition read_reply(const hlo::Instruction& call, std::string_view reply) {
  hlo::CustomPartition own;
  for (const hlo::Value& operand : call.operands()) {
    own.operands.push_back(hlo::parse_sharding(take_line(reply), {}, operand.shape().rank()));
  }
  for (const TensorType& result : call.results()) {
    own.results.push_back(hlo::parse_sharding(take_line(reply), {}, result.shape.rank()));
  }
  std::unique_ptr<hlo::Module> program = hlo::parse(std::string(reply), "custom partition");
  hlo::verify(*program);
  own.program = std::move(program);
  return own;
}

}  // namespace

void tell_inspected(std::span<const hlo::InspectedSharding> inspected, int num_devices) {
  const Inspector function = inspector;
  if (function == nullptr) return;
  for (const hlo::InspectedSharding& asked : inspected) {
    const std::string sharding = encode_sharding(asked.sharding, num_devices);
    const std::string_view key = unquoted(asked.key);
    const char* const message = function(key.data(), key.size(), sharding.data(), sharding.size());
    if (message != nullptr) throw internal_error("{}: {}", hlo::kInspectSharding, message);
  }
}

hlo::CustomPartitioner custom_partitioner(int num_devices) {
  const Partitioner function = partitioner;
  if (function == nullptr) return nullptr;
  return [=](const hlo::Instruction& call, std::span<const hlo::Sharding> operands,
             std::span<const hlo::Sharding> results) {
    const std::string request = request_of(call, operands, results, num_devices);
    const char* reply = nullptr;
    size_t size = 0;
    const char* const message = function(request.data(), request.size(), &reply, &size);
    if (message != nullptr) throw internal_error("{}: {}", hlo::kCustomPartitioning, message);
    return read_reply(call, {reply, size});
  };
}

}  // namespace systole::plugin

// Sets the function that is told, while a program is compiled, how the operands of its calls of
// InspectSharding are split: the call's backend_config, and a serialised xla.OpSharding. The
// function must live as long as the process. Thread-safe.
extern "C" __attribute__((visibility("default"))) void systole_inspect_shardings(
    systole::plugin::Inspector function) {
  systole::plugin::inspector = function;
}

// Sets the function that is asked, while a program is compiled, how its calls of
// CustomSPMDPartitioning are computed on parts. It gets JSON: the call's backend_config as `key`,
// and the types and shardings of `operands` and `results`. It replies with a line for the sharding
// of each operand and each result, as GSPMD's text, and a program of StableHLO, whose main takes
// the parts. The function must live as long as the process. Thread-safe.
extern "C" __attribute__((visibility("default"))) void systole_partition_custom_calls(
    systole::plugin::Partitioner function) {
  systole::plugin::partitioner = function;
}
