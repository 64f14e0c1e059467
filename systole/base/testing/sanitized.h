// Whether a sanitizer instruments this build.
#pragma once

namespace systole::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(SYSTOLE_SANITIZE_THREAD)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace systole::testing
