// How many random cases a property test runs. The full number runs at full
// speed in every build without sanitizers; a sanitizer looks for errors of
// memory and threads, which the first cases reach as well.
#ifndef COUNTRACE_TESTS_SUPPORT_PROPERTY_RUNS_H_
#define COUNTRACE_TESTS_SUPPORT_PROPERTY_RUNS_H_

#include <algorithm>
#include <concepts>
#include <cstdlib>

namespace countrace::test_support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// Returns `cases`; under a sanitizer a tenth of them, at least 5, unless
// COUNTRACE_TEST_FULL is set (`scripts/test --full`). A sum over all cases is
// compared with PropertyRuns(what is expected of all).
template <std::integral Number>
Number PropertyRuns(Number cases) {
  if (!kSanitized || std::getenv("COUNTRACE_TEST_FULL") != nullptr) {
    return cases;
  }
  return std::max<Number>(cases / 10, std::min<Number>(cases, 5));
}

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_SUPPORT_PROPERTY_RUNS_H_
