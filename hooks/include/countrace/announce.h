/* Announces the hook sites of an object (executable or shared library) to the
 * runtime library and to the LTTng provider, where they are loaded. Each
 * translation unit has a constructor and a destructor for it; only the first of
 * an object acts.
 *
 * The section `countrace_hooks` lists the sites by pointer. Assembler writes
 * it: g++ cannot put a variable of an inline function and one of an ordinary
 * function into the same named section, and ASan would pad them.
 */
#ifndef COUNTRACE_ANNOUNCE_H_
#define COUNTRACE_ANNOUNCE_H_

#include <stddef.h>

#include "countrace/hook_site.h"
#include "countrace/site_address.h"

#ifdef __cplusplus
extern "C" {
#endif

extern struct countrace_hook_site* const __start_countrace_hooks[]
    __attribute__((weak, visibility("hidden")));
extern struct countrace_hook_site* const __stop_countrace_hooks[]
    __attribute__((weak, visibility("hidden")));

/* One for each object: the linker merges them. */
__attribute__((weak, visibility("hidden"))) int countrace_detail_announced = 0;

/* Priority 101: before the object's own constructors, which may have hooks. */
__attribute__((constructor(101))) static void countrace_detail_announce(void) {
  if (countrace_detail_announced != 0) return;
  countrace_detail_announced = 1;
  if (__start_countrace_hooks == NULL) return;
  if (countrace_runtime_attach != NULL) {
    countrace_runtime_attach(__start_countrace_hooks, __stop_countrace_hooks,
                             COUNTRACE_ABI_VERSION);
  }
  if (countrace_lttng_attach != NULL) {
    countrace_lttng_attach(__start_countrace_hooks, __stop_countrace_hooks,
                           COUNTRACE_ABI_VERSION);
  }
}

__attribute__((destructor(101))) static void countrace_detail_withdraw(void) {
  if (countrace_detail_announced == 0) return;
  countrace_detail_announced = 0;
  if (__start_countrace_hooks == NULL) return;
  if (countrace_lttng_detach != NULL) {
    countrace_lttng_detach(__start_countrace_hooks, __stop_countrace_hooks);
  }
  if (countrace_runtime_detach != NULL) {
    countrace_runtime_detach(__start_countrace_hooks, __stop_countrace_hooks);
  }
}

#ifdef __cplusplus
}
#endif

/* Lists the hook site at constant address `site` in this object's section. */
#define COUNTRACE_DETAIL_LIST_SITE(site)                  \
  __asm__ volatile(                                       \
      ".pushsection countrace_hooks,\"aw?\",%%progbits\n" \
      "\t.balign 8\n"                                     \
      "\t.8byte %c0\n"                                    \
      "\t.popsection"                                     \
      :                                                   \
      : COUNTRACE_DETAIL_SITE_ADDRESS(site))

#endif /* COUNTRACE_ANNOUNCE_H_ */
