// Names of functions as people write them.
//
// Not async-signal-safe. Threads: any.
#ifndef COUNTRACE_BASE_TEXT_DEMANGLED_H_
#define COUNTRACE_BASE_TEXT_DEMANGLED_H_

#include <string>

namespace countrace::base {

// A C++ or Rust name (both of Rust's manglings, without the hash), or `name`
// itself: it is of another language, or longer than 4,096 bytes, so that taking
// it apart would take long.
std::string Demangled(const std::string& name);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_DEMANGLED_H_
