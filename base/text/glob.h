// Shell patterns for names of hooks, processes, rules, tracepoints.
//
// Header-only, and uses only the C library: it runs inside user processes.
// Patterns for BPF programs are compiled by logformat/rules/comm_glob.h
// instead.
#ifndef COUNTRACE_BASE_TEXT_GLOB_H_
#define COUNTRACE_BASE_TEXT_GLOB_H_

#include <fnmatch.h>

namespace countrace::base {

// True if `pattern` matches all of `name` (*, ?, [...], backslash; * matches
// any character).
inline bool GlobMatches(const char* pattern, const char* name) noexcept {
  return fnmatch(pattern, name, 0) == 0;
}

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_GLOB_H_
