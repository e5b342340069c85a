// Where a program that runs as another user reports that it could not join: a
// named pipe outside of the trace's folder, which is private. Root's recorder
// alone makes one, since its commands alone become other users.
//
// Compiled into the runtime library.
#ifndef COUNTRACE_RUNTIME_UNJOINED_PLACE_H_
#define COUNTRACE_RUNTIME_UNJOINED_PLACE_H_

#include <cstddef>
#include <cstdint>

namespace countrace::runtime {

// Then 16 hexadecimal digits, from the path of the trace's folder.
inline constexpr char kUnjoinedPlace[] = "/dev/shm/countrace-unjoined-";
inline constexpr std::size_t kUnjoinedPlaceBytes = sizeof(kUnjoinedPlace) + 16;

// Writes the pipe's path, with its NUL. Async-signal-safe.
inline void UnjoinedPlace(const char* session,
                          char (&path)[kUnjoinedPlaceBytes]) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char* c = session; *c != '\0'; ++c) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
  }
  std::size_t at = 0;
  for (; kUnjoinedPlace[at] != '\0'; ++at) path[at] = kUnjoinedPlace[at];
  for (int shift = 60; shift >= 0; shift -= 4) {
    path[at++] = "0123456789abcdef"[hash >> shift & 15];
  }
  path[at] = '\0';
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_UNJOINED_PLACE_H_
