// What definitions that stand before functions of the C library need. Shared
// library only.
#ifndef COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_INTERPOSED_H_
#define COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_INTERPOSED_H_

#include <dlfcn.h>

// Gives a function the name of the C library's: under its own, the C library's
// headers would give it attributes.
#define COUNTRACE_EXPORT(name) \
  __asm__(#name) __attribute__((visibility("default"), used))

namespace countrace::runtime {

// The C library's function `name`, looked up once: *real starts as null.
inline void* Find(void** real, const char* name) noexcept {
  // Relaxed: every thread stores the same address.
  void* found = __atomic_load_n(real, __ATOMIC_RELAXED);
  if (__builtin_expect(found != nullptr, 1)) return found;
  found = dlsym(RTLD_NEXT, name);
  __atomic_store_n(real, found, __ATOMIC_RELAXED);
  return found;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_INTERPOSED_H_
