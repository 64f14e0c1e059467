// A program, as text or bytecode, that is accepted must compile for cpu without an internal error,
// and give the results that `reference` gives if it computes with whole numbers. Programs that are
// large or may run long are left out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/error.h"
#include "systole/hlo/analysis/counted_loop.h"
#include "systole/hlo/ir/callees.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/bytecode/bytecode.h"
#include "systole/stablehlo/text/text.h"

namespace hlo = systole::hlo;
namespace runtime = systole::runtime;
using systole::Tensor;
using systole::TensorType;

namespace {

constexpr size_t kMaxBytes = 16'384;     // of an input
constexpr int64_t kMaxElements = 4096;   // of a tensor
constexpr int64_t kMaxWork = 4'000'000;  // elements that a run computes, roughly
constexpr int kMaxDepth = 64;

// Returns nullptr if the program is refused.
std::unique_ptr<hlo::Module> read_valid(std::string_view bytes) {
  try {
    auto modules = hlo::read_modules(bytes, "input");
    if (modules.size() != 1 || modules[0]->find_function("main") == nullptr) return nullptr;
    hlo::verify(*modules[0]);
    return std::move(modules[0]);
  } catch (const systole::Error&) {
    return nullptr;
  }
}

// Whether the value depends on nothing but operands, on any backend, and no other program is
// needed.
bool is_plain(const hlo::Instruction& x) {
  using enum hlo::Opcode;
  return !x.is(custom_call) && !x.is(rng) && !x.is(infeed) && !x.is(outfeed) && !x.is(send) &&
         !x.is(recv);
}

bool is_whole(const TensorType& type) {
  return !type.is_quantized() &&
         (systole::is_integer(type.dtype) || type.dtype == systole::DType::pred);
}

// An upper estimate of the work of a run.
class Work {
 public:
  // Returns false if it cannot be known or is too much.
  bool add(const hlo::Computation& computation, int64_t times, int depth) {
    if (depth > kMaxDepth) return false;
    for (const hlo::Instruction* x : computation.instructions()) {
      if (!add(*x, times, depth)) return false;
    }
    return true;
  }

  bool only_whole_numbers() const { return only_whole_numbers_; }

 private:
  bool add(const hlo::Instruction& x, int64_t times, int depth) {
    int64_t results = 1;
    int64_t operands = 1;
    for (const TensorType& type : x.results()) {
      if (!fits(type)) return false;
      results = std::max(results, type.shape.num_elements());
      only_whole_numbers_ = only_whole_numbers_ && is_whole(type);
    }
    for (const hlo::Value& operand : x.operands())
      operands = std::max(operands, operand.shape().num_elements());
    const bool combines =
        !x.traits().has(hlo::kElementwise | hlo::kTerminator) && x.num_operands() > 1;
    const int64_t elements = combines ? results * operands : std::max(results, operands);
    total_ += times * elements;
    const int64_t inside = times * runs_of_regions(x, elements);
    if (!is_plain(x) || total_ > kMaxWork || inside > kMaxWork) return false;
    for (const auto& region : x.regions()) {
      if (!add(*region, inside, depth + 1)) return false;
    }
    for (const std::string& name : hlo::callees(x.attrs())) {
      if (!add(*x.parent().module().find_function(name), times, depth + 1)) return false;
    }
    return true;
  }

  static bool fits(const TensorType& type) {
    return type.is_static() && type.shape.num_elements() <= kMaxElements;
  }

  static int64_t runs_of_regions(const hlo::Instruction& x, int64_t elements) {
    if (x.num_regions() == 0) return 0;
    if (x.is(hlo::Opcode::while_)) {
      const auto trips = hlo::LoopCounters(x).trips();
      return trips ? std::min(*trips, kMaxWork) + 1 : kMaxWork + 1;
    }
    if (x.is(hlo::Opcode::if_) || x.is(hlo::Opcode::case_)) return 1;
    int64_t window = 1;
    if (const auto* attrs = std::get_if<hlo::WindowAttrs>(&x.attrs())) {
      for (const int64_t size : attrs->window_dimensions)
        window = std::min(kMaxWork, window * size);
    }
    constexpr int64_t kOfASort = 16;
    return std::min(kMaxWork + 1, elements * window * kOfASort);
  }

  int64_t total_ = 0;
  bool only_whole_numbers_ = true;
};

// Small whole numbers.
Tensor argument(const TensorType& type, int salt) {
  std::vector<double> numbers(static_cast<size_t>(type.shape.num_elements()));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<double>((i * 7 + static_cast<size_t>(salt) * 3) % 5);
  return Tensor::of(type.shape, numbers).cast(type.dtype);
}

struct Outcome {
  std::string error;  // "" if it ran
  bool internal = false;
  std::vector<Tensor> results;
};

Outcome run(const hlo::Module& module, runtime::Client& client) {
  Outcome outcome;
  try {
    const auto program = client.compile(module);
    std::vector<Tensor> values;
    for (const TensorType& type : program->parameter_types())
      values.push_back(argument(type, static_cast<int>(values.size())));
    std::vector<runtime::Argument> arguments;
    for (const Tensor& value : values) arguments.push_back({.host = &value});
    outcome.results.resize(program->result_types().size());
    std::vector<runtime::Result> results;
    for (Tensor& result : outcome.results) results.push_back({.host = &result});
    program->execute(arguments, results).wait();
  } catch (const systole::Error& error) {
    outcome.error = error.what();
    outcome.internal = error.code() == systole::Code::internal;
  }
  return outcome;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() &&
         (a.byte_size() == 0 ||
          std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.byte_size())) == 0);
}

[[noreturn]] void fail(std::string_view what, const hlo::Module& module) {
  std::fprintf(stderr, "%.*s\n%s\n", static_cast<int>(what.size()), what.data(),
               hlo::print(module).c_str());
  std::abort();
}

void compare(const hlo::Module& module, bool exactly) {
  const Outcome want = run(module, runtime::client("reference"));
  const Outcome got = run(module, runtime::client("cpu"));
  if (got.internal) fail("cpu: " + got.error, module);
  if (want.internal) fail("reference: " + want.error, module);
  if (!exactly || !got.error.empty() || !want.error.empty()) return;
  for (size_t i = 0; i < want.results.size(); ++i) {
    if (!same(got.results[i], want.results[i])) fail("other results", module);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("SYSTOLE_CACHE_DIR", "", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxBytes) return 0;
  const auto module = read_valid({reinterpret_cast<const char*>(data), size});
  if (module == nullptr) return 0;
  Work work;
  if (!work.add(module->entry(), 1, 0)) return 0;
  compare(*module, work.only_whole_numbers());
  return 0;
}

// -- Mutations. Most changes of single bytes of a text are errors of syntax.

namespace {

class Mutation {
 public:
  Mutation(std::string text, unsigned seed) : text_(std::move(text)), random_(seed | 1U) {}

  std::string apply() {
    switch (next(6)) {
      case 0:
        change_number();
        break;
      case 1:
        exchange_words('%', "%");
        break;
      case 2:
        exchange_words('s', "stablehlo.");
        break;
      case 3:
        repeat_line();
        break;
      case 4:
        exchange_words('<', "<");
        break;
      default:
        change_byte();
    }
    return std::move(text_);
  }

 private:
  size_t next(size_t below) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(random_ >> 33U) % std::max<size_t>(below, 1);
  }

  void change_byte() {
    if (!text_.empty()) text_[next(text_.size())] = static_cast<char>(next(256));
  }

  void change_number() {
    std::vector<size_t> starts;
    for (size_t i = 1; i < text_.size(); ++i) {
      if (std::isdigit(text_[i]) != 0 && std::isalnum(text_[i - 1]) == 0) starts.push_back(i);
    }
    if (starts.empty()) return;
    const size_t at = starts[next(starts.size())];
    size_t end = at;
    while (end < text_.size() && std::isdigit(text_[end]) != 0) ++end;
    static constexpr const char* kNumbers[] = {"0", "1",  "2",   "3",          "4",
                                               "5", "16", "255", "2147483647", "-1"};
    text_.replace(at, end - at, kNumbers[next(std::size(kNumbers))]);
  }

  // Replaces one word that starts with `prefix` by another word of the text with that prefix.
  void exchange_words(char first, std::string_view prefix) {
    std::vector<std::pair<size_t, size_t>> words;
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != first || text_.compare(i, prefix.size(), prefix) != 0) continue;
      size_t end = i + prefix.size();
      while (end < text_.size() && (std::isalnum(text_[end]) != 0 || text_[end] == '_')) ++end;
      words.emplace_back(i, end - i);
    }
    if (words.size() < 2) return;
    const auto from = words[next(words.size())];
    const auto to = words[next(words.size())];
    text_.replace(to.first, to.second, text_.substr(from.first, from.second));
  }

  void repeat_line() {
    const size_t at = text_.rfind('\n', next(text_.size()));
    if (at == std::string::npos) return;
    const size_t end = std::min(text_.find('\n', at + 1), text_.size());
    const std::string line = text_.substr(at, end - at);
    if (next(2) == 0) {
      text_.erase(at, line.size());
    } else {
      text_.insert(at, line);
    }
  }

  std::string text_;
  uint64_t random_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::string text = Mutation({reinterpret_cast<const char*>(data), size}, seed).apply();
  text.resize(std::min(text.size(), max_size));
  std::ranges::copy(text, data);
  return text.size();
}
