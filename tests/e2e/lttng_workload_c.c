/* The same from C. */
#include <countrace/hooks.h>

void lttng_workload_c(int number);

void lttng_workload_c(int number) {
  COUNTRACE_ENTER("lttng_test", "c_segment", number, "text");
  COUNTRACE_HOOK("lttng_test", "c_hook", -1, 2u, 0.5, "s", (void*)16);
  COUNTRACE_HOOK("lttng_test", "c_none");
  COUNTRACE_EXIT("lttng_test", "c_segment");
}
