// Ends countrace-code when no memory is left for it: libdw would go on with
// less, and names would be wrong without a word.
#include <unistd.h>

#include <cstddef>

#include "rmap/code/code_messages.h"

#ifndef COUNTRACE_ANY_MEMORY  // sanitizers have their own
extern "C" {

// glibc's own.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);

void* malloc(std::size_t bytes) {
  void* const made = __libc_malloc(bytes);
  if (made == nullptr) _exit(countrace::rmap::kOutOfMemoryStatus);
  return made;
}

void* calloc(std::size_t count, std::size_t bytes) {
  void* const made = __libc_calloc(count, bytes);
  if (made == nullptr) _exit(countrace::rmap::kOutOfMemoryStatus);
  return made;
}

void* realloc(void* old, std::size_t bytes) {
  void* const made = __libc_realloc(old, bytes);
  if (made == nullptr && bytes != 0) {
    _exit(countrace::rmap::kOutOfMemoryStatus);
  }
  return made;
}
}
#endif
