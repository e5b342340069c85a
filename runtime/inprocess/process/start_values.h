// What the kernel gave the process when it started. From the C library only the
// two that have no other source; README.md, "Functions of the C library".
//
// Thread: any, while none changes the environment.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_START_VALUES_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_START_VALUES_H_

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdint>

namespace countrace::runtime {

// Null: not in the environment. Not getenv: bash has one of its own.
inline const char* EnvironmentValue(const char* name) noexcept {
  const std::size_t bytes = strlen(name);
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (strncmp(*at, name, bytes) == 0 && (*at)[bytes] == '=') {
      return *at + bytes + 1;
    }
  }
  return nullptr;
}

// The caller of a set-user-id program must not choose where it writes.
inline bool HasRaisedRights() noexcept { return getauxval(AT_SECURE) != 0; }

// Packets may lie on larger pages, but not on smaller ones.
inline std::uint64_t PageBytes() noexcept {
  constexpr std::uint64_t kLargest = 64 * 1024;
  const std::uint64_t bytes = getauxval(AT_PAGESZ);
  const bool is_page = bytes >= 4096 && (bytes & (bytes - 1)) == 0;
  return is_page && bytes < kLargest ? bytes : kLargest;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_START_VALUES_H_
