#include "systole/session/host/regex.h"

namespace systole::kernels {
namespace {

std::vector<Tensor> run_regex_full_match(KernelContext& c) {
  const auto regex = regex_of(c, c.attr<std::string>("pattern"));
  Tensor result(DType::pred, c.input(0).shape());
  std::ranges::transform(
      c.input(0).data<std::string>(), result.data<bool>().begin(),
      [&](const std::string& text) { return re2::RE2::FullMatch(text, *regex); });
  return {result};
}

}  // namespace

extern const HostKernelDef regex_full_match_kernel{.op = "StaticRegexFullMatch",
                                                   .run = run_regex_full_match};

}  // namespace systole::kernels
