// The sanitizers that instrument this build.
#pragma once

namespace systole::testing {

#if defined(SYSTOLE_SANITIZE_THREAD)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = kThreadSanitized;
#endif

}  // namespace systole::testing
