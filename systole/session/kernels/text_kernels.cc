// Strings: vocabularies, patterns, the log.
#include <algorithm>
#include <atomic>

#include "systole/base/log.h"
#include "systole/graph/ops/string/fingerprint.h"
#include "systole/session/host/host_kernel.h"
#include "systole/session/host/print_text.h"
#include "systole/session/kernels/regex.h"
#include "systole/session/kernels/vocabulary.h"

namespace systole::kernels {
namespace {

Tensor numbers_of(KernelContext& c, const Vocabulary& vocabulary) {
  const auto buckets = static_cast<uint64_t>(c.attr<int64_t>("num_oov_buckets"));
  const auto fallback = c.attr<Tensor>("default_value").item<int64_t>();
  Tensor result(DType::s64, c.input(0).shape());
  std::ranges::transform(
      c.input(0).data<std::string>(), result.data<int64_t>().begin(), [&](const std::string& word) {
        const int64_t number = vocabulary.find(word);
        if (number >= 0) return number;
        if (buckets == 0) return fallback;
        return vocabulary.size() + static_cast<int64_t>(fingerprint64(word) % buckets);
      });
  return result;
}

Tensor words_of(KernelContext& c, const Vocabulary& vocabulary) {
  const auto fallback = c.attr<Tensor>("default_value").item<std::string>();
  const Tensor keys = c.input(0).cast(DType::s64);
  Tensor result(DType::string, keys.shape());
  std::ranges::transform(keys.data<int64_t>(), result.data<std::string>().begin(),
                         [&](int64_t number) {
                           const bool known = number >= 0 && number < vocabulary.size();
                           return known ? vocabulary.word(number) : fallback;
                         });
  return result;
}

std::vector<Tensor> run_lookup_table_find(KernelContext& c) {
  const auto vocabulary = vocabulary_of(c);
  return {c.attr<DType>("value_dtype") == DType::s64 ? numbers_of(c, *vocabulary)
                                                     : words_of(c, *vocabulary)};
}

std::vector<Tensor> run_regex_full_match(KernelContext& c) {
  const auto regex = regex_of(c, c.attr<std::string>("pattern"));
  Tensor result(DType::pred, c.input(0).shape());
  std::ranges::transform(
      c.input(0).data<std::string>(), result.data<bool>().begin(),
      [&](const std::string& text) { return re2::RE2::FullMatch(text, *regex); });
  return {result};
}

std::vector<Tensor> run_regex_replace(KernelContext& c) {
  const auto regex = regex_of(c, c.attr<std::string>("pattern"));
  const auto& rewrite = c.attr<std::string>("rewrite");
  std::string error;
  if (!regex->CheckRewriteString(rewrite, &error)) {
    throw invalid_argument("rewrite, got '{}', expected one that fits the pattern: {}", rewrite,
                           error);
  }
  const bool global = c.attr<bool>("replace_global");
  Tensor result = c.input(0).clone();
  for (std::string& text : result.data<std::string>()) {
    if (global) {
      re2::RE2::GlobalReplace(&text, *regex, rewrite);
    } else {
      re2::RE2::Replace(&text, *regex, rewrite);
    }
  }
  return {result};
}

// A step after a device program gets the printed values and has no results; a step among host ops
// gets all inputs.
std::vector<Tensor> run_print(KernelContext& c) {
  const bool passes = c.inputs.size() == static_cast<size_t>(c.node.num_inputs());
  const auto first_n = c.attr<int64_t>("first_n");
  if (first_n >= 0) {
    const auto count = c.resources.get<std::atomic<int64_t>>(
        "Print:" + c.node.name(), [] { return std::make_shared<std::atomic<int64_t>>(0); });
    if ((*count)++ >= first_n) return passes ? std::vector{c.input(0)} : std::vector<Tensor>();
  }
  log_message(LogLevel::info, print_text(c.node, passes ? c.inputs.subspan(1) : c.inputs));
  return passes ? std::vector{c.input(0)} : std::vector<Tensor>();
}

}  // namespace

extern const HostKernelDef initialize_table_kernel{
    .op = "InitializeTable",
    .run =
        [](KernelContext& c) {
          vocabulary_of(c);
          return std::vector<Tensor>();
        },
};

extern const HostKernelDef lookup_table_find_kernel{.op = "LookupTableFindV2",
                                                    .run = run_lookup_table_find};

extern const HostKernelDef lookup_table_size_kernel{
    .op = "LookupTableSizeV2",
    .run = [](KernelContext& c) { return std::vector{Tensor(vocabulary_of(c)->size())}; },
};

extern const HostKernelDef regex_full_match_kernel{.op = "StaticRegexFullMatch",
                                                   .run = run_regex_full_match};

extern const HostKernelDef regex_replace_kernel{.op = "StaticRegexReplace",
                                                .run = run_regex_replace};

extern const HostKernelDef print_kernel{.op = "Print", .run = run_print};

}  // namespace systole::kernels
