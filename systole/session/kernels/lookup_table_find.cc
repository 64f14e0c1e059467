#include <algorithm>

#include "systole/graph/ops/string/fingerprint.h"
#include "systole/session/host/vocabulary.h"

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

}  // namespace

extern const HostKernelDef lookup_table_find_kernel{.op = "LookupTableFindV2",
                                                    .run = run_lookup_table_find};

}  // namespace systole::kernels
