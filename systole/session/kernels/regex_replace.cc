#include "systole/session/host/regex.h"

namespace systole::kernels {
namespace {

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

}  // namespace

extern const HostKernelDef regex_replace_kernel{.op = "StaticRegexReplace",
                                                .run = run_regex_replace};

}  // namespace systole::kernels
