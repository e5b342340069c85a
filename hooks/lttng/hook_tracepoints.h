/* The LTTng-UST events that countrace's static hooks appear as.
 *
 *   countrace:enter  a segment begins    (COUNTRACE_SEGMENT, COUNTRACE_ENTER)
 *   countrace:exit   it ends             (end of the scope, COUNTRACE_EXIT)
 *   countrace:hook   a point hook        (COUNTRACE_HOOK)
 *
 * Fields, the same for all three:
 *
 *   id       the hook's number: the one in the countrace recording that the
 *            process takes part in, else the explicit one
 *            (COUNTRACE_HOOK_ID), else 0. The `name` of a hook is always the
 *            same.
 *   name     "provider:name"
 *   payload  the payload values as text, "(VALUE, VALUE)": numbers exactly
 *            (floating point with enough digits to read back the same value),
 *            pointers in hexadecimal, strings in double quotes with \", \\ and
 *            \xNN. A string is cut at 511 bytes, the whole text at 1,023, with
 *            "..." behind. "()" without payload, as at an exit: never empty,
 *            because Babeltrace 2.0.4 shows the text of an earlier event for an
 *            empty string.
 *   values   the same as integers, for filters ('values[0] > 4096') and
 *            analyses: integers and pointers as they are, floating point
 *            without its fraction, strings by their length in bytes.
 *
 * `countrace:enter` controls whole segments: a scope whose enter was not
 * enabled emits no exit either, so `countrace:exit` alone shows only
 * COUNTRACE_EXITs.
 *
 * Included by lttng_provider.c only; LTTng's headers read it several times.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER countrace

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "hooks/lttng/hook_tracepoints.h"

#if !defined(COUNTRACE_HOOKS_LTTNG_HOOK_TRACEPOINTS_H_) || \
    defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define COUNTRACE_HOOKS_LTTNG_HOOK_TRACEPOINTS_H_

#include <lttng/tracepoint.h>
#include <stdint.h>

// clang-format off
LTTNG_UST_TRACEPOINT_EVENT_CLASS(countrace, any_hook,
    LTTNG_UST_TP_ARGS(uint32_t, id, const char*, name, const char*, payload,
                      const int64_t*, values, uint8_t, count),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, id, id)
        lttng_ust_field_string(name, name)
        lttng_ust_field_string(payload, payload)
        lttng_ust_field_sequence(int64_t, values, values, uint8_t, count)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(countrace, any_hook, countrace, enter,
    LTTNG_UST_TP_ARGS(uint32_t, id, const char*, name, const char*, payload,
                      const int64_t*, values, uint8_t, count))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(countrace, any_hook, countrace, exit,
    LTTNG_UST_TP_ARGS(uint32_t, id, const char*, name, const char*, payload,
                      const int64_t*, values, uint8_t, count))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(countrace, any_hook, countrace, hook,
    LTTNG_UST_TP_ARGS(uint32_t, id, const char*, name, const char*, payload,
                      const int64_t*, values, uint8_t, count))
// clang-format on

#endif

#include <lttng/tracepoint-event.h>
