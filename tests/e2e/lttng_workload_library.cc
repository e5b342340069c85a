// A library with hooks that comes and goes.
#include <countrace/hooks.h>

extern "C" __attribute__((visibility("default"))) void lttng_library_call(
    int number) {
  COUNTRACE_SEGMENT("lttng_test", "in_library", number);
}
