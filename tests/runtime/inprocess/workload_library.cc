// A shared library with hooks that comes and goes (dlopen, dlclose).
#include <countrace/hooks.h>

extern "C" void library_call() {
  COUNTRACE_SEGMENT("library", "call");
  COUNTRACE_HOOK("library", "inside", 42);
}
