// Shell patterns for names of hooks, processes, rules, tracepoints.
//
// Header-only and of the C library alone: code inside user processes uses it.
// What BPF programs match is compiled by logformat/comm_glob.h instead.
#ifndef COUNTRACE_BASE_TEXT_GLOB_H_
#define COUNTRACE_BASE_TEXT_GLOB_H_

#include <fnmatch.h>

namespace countrace::base {

// All of `name` matches `pattern` (*, ?, [...], backslash; * takes any
// character).
inline bool GlobMatches(const char* pattern, const char* name) noexcept {
  return fnmatch(pattern, name, 0) == 0;
}

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_GLOB_H_
