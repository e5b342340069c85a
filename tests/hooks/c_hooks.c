/* The C side of the hooks, for hooks_test. */
#include <countrace/hooks.h>

int c_hooks_run(int argument);

int c_hooks_run(int argument) {
  char text[] = "writable";
  COUNTRACE_ENTER("hooks_test", "c_main", argument);
  COUNTRACE_HOOK("hooks_test", "c_none");
  COUNTRACE_HOOK("hooks_test", "c_all_types", (short)1, 2u, 2.5f, "literal",
                 (void*)text, text);
  COUNTRACE_PROCESS_LEVEL("hooks_test", "c_level", argument);
  COUNTRACE_EXIT("hooks_test", "c_main");
  return argument;
}
