#include "systole/session/kernels/regex.h"

namespace systole {

std::shared_ptr<const re2::RE2> regex_of(KernelContext& context, const std::string& pattern) {
  return context.resources.get<re2::RE2>("regex " + pattern, [&] {
    auto regex = std::make_shared<re2::RE2>(pattern, re2::RE2::Quiet);
    if (!regex->ok()) {
      throw invalid_argument("pattern, got '{}', expected a regular expression of RE2: {}", pattern,
                             regex->error());
    }
    return regex;
  });
}

}  // namespace systole
