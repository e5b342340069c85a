/* Binary contract between instrumented code and the runtime library: the static
 * descriptor of a hook site, the sink the runtime plugs in, payload values.
 *
 * C and C++. Both sides check `bytes` and `abi`.
 */
#ifndef COUNTRACE_HOOK_SITE_H_
#define COUNTRACE_HOOK_SITE_H_

#include <stdint.h>

#define COUNTRACE_ABI_VERSION 2
#define COUNTRACE_MAX_PAYLOAD_VALUES 6

#ifdef __cplusplus
extern "C" {
#endif

/* Payload value types. The numbers are stored in descriptors and in the log. */
enum {
  COUNTRACE_TYPE_NONE = 0,
  COUNTRACE_TYPE_INT = 1,      /* int64_t */
  COUNTRACE_TYPE_UNSIGNED = 2, /* uint64_t */
  COUNTRACE_TYPE_DOUBLE = 3,
  COUNTRACE_TYPE_STRING = 4, /* in the log 511 bytes, the last "..." if cut */
  COUNTRACE_TYPE_POINTER = 5
};

enum {
  COUNTRACE_SITE_POINT = 1,   /* COUNTRACE_HOOK */
  COUNTRACE_SITE_SEGMENT = 2, /* COUNTRACE_SEGMENT, COUNTRACE_ENTER */
  COUNTRACE_SITE_EXIT = 3     /* COUNTRACE_EXIT: exit of the segment so named */
};

/* Whose state a level is. It stands in the last of `types` of its site, a point
 * with one value: to a runtime that has no levels it is that point alone. */
enum {
  COUNTRACE_LEVEL_NONE = 0, /* no level */
  COUNTRACE_LEVEL_OF_THREAD = 1,
  COUNTRACE_LEVEL_OF_PROCESS = 2,
  COUNTRACE_LEVEL_OF_MACHINE = 3
};

struct countrace_value {
  union {
    int64_t i;
    uint64_t u;
    double d;
    const char* s;
    const void* p;
  } as;
  uint64_t bytes; /* of a string, without a NUL; else 0 */
};

struct countrace_hook_site;

/* What a recording runtime does with a hook. Both functions may be called in
 * any context, also in signal handlers, and preserve errno.
 */
struct countrace_sink {
  uint32_t bytes; /* sizeof(struct countrace_sink) of the runtime */
  uint32_t abi;   /* COUNTRACE_ABI_VERSION of the runtime */
  void (*emit)(uint32_t event_id);
  void (*emit_payload)(const struct countrace_hook_site* site,
                       uint32_t event_id, const struct countrace_value* values,
                       uint32_t count);
};

/* What libcountrace-lttng.so does with a hook. `kind`: COUNTRACE_SITE_SEGMENT
 * for an enter, _EXIT, _POINT. `values`: one for each payload value of the
 * site, null for an exit. May be called in any context; preserves errno.
 */
struct countrace_lttng_sink {
  uint32_t bytes; /* of what the library keeps here */
  uint32_t abi;   /* COUNTRACE_ABI_VERSION of the library */
  void (*emit)(const struct countrace_hook_site* site, uint32_t kind,
               const struct countrace_value* values);
};

/* The word that a hook tests: all zero = off. Three writers share it, each with
 * a part of its own: LTTng-UST stores the state of the site's tracepoint, the
 * kernel counts attached USDT probes in the semaphore, the runtime sets
 * `enabled`.
 */
union countrace_gate {
  uint64_t word;
  struct {
    int32_t lttng_state;
    uint16_t usdt_semaphore;
    uint16_t enabled;
  } part;
};

/* Offset of the semaphore in the gate, for assembler text. */
#define COUNTRACE_DETAIL_SEMAPHORE_OFFSET "4"

/* Begins with the fields of an LTTng-UST tracepoint (struct
 * lttng_ust_tracepoint of lttng/tracepoint-types.h, whose layout is part of
 * LTTng's ABI). An LTTng session therefore opens the gate itself, and no thread
 * has to poll for it. These fields are zero until libcountrace-lttng.so, if it
 * is loaded, registers the site as a tracepoint. `event_id` uses a padding hole
 * of that layout.
 */
struct countrace_hook_site {
  uint32_t lttng_bytes;
  uint32_t event_id; /* set by the runtime; enter or point */
  const char* lttng_provider;
  const char* lttng_event;
  union countrace_gate gate;
  const void* lttng_probes;
  const int* lttng_reference;
  const char* lttng_signature;
  /* End of the tracepoint. */
  const struct countrace_sink* sink;        /* set before gate.part.enabled */
  const struct countrace_lttng_sink* lttng; /* set before it is registered */
  uint32_t bytes;   /* sizeof(struct countrace_hook_site) */
  uint32_t hook_id; /* explicit numeric id, 1..4095; 0 = automatic */
  uint32_t line;
  uint8_t kind;                                /* COUNTRACE_SITE_* */
  uint8_t count;                               /* payload values, 0..6 */
  uint8_t types[COUNTRACE_MAX_PAYLOAD_VALUES]; /* COUNTRACE_TYPE_* */
  const char* provider;
  const char* name;
  const char* file;
};

/* Exported by the runtime library and by the LTTng provider. Weak here, so that
 * a program that only includes this header needs no library to link.
 * `start`..`stop` is the object's section of pointers to its hook sites; a site
 * may be listed more than once.
 */
void countrace_runtime_attach(struct countrace_hook_site* const* start,
                              struct countrace_hook_site* const* stop,
                              uint32_t abi) __attribute__((weak));
void countrace_runtime_detach(struct countrace_hook_site* const* start,
                              struct countrace_hook_site* const* stop)
    __attribute__((weak));
/* Which scope the hook record of this thread before (`exit` 0) or after it (1)
 * is of: the one at `place`, in a coroutine's frame. */
void countrace_runtime_scope(void* place, uint32_t exit)
    __attribute__((weak, nothrow));
void countrace_lttng_attach(struct countrace_hook_site* const* start,
                            struct countrace_hook_site* const* stop,
                            uint32_t abi) __attribute__((weak));
void countrace_lttng_detach(struct countrace_hook_site* const* start,
                            struct countrace_hook_site* const* stop)
    __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif /* COUNTRACE_HOOK_SITE_H_ */
