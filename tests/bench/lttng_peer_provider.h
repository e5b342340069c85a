/* LTTng-UST tracepoints at the places of hook_bench, for comparison. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER countrace_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/lttng_peer_provider.h"

#if !defined(COUNTRACE_TESTS_BENCH_LTTNG_PEER_PROVIDER_H_) || \
    defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define COUNTRACE_TESTS_BENCH_LTTNG_PEER_PROVIDER_H_

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    countrace_peer, enter, LTTNG_UST_TP_ARGS(unsigned long, value),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned long, value, value)))
LTTNG_UST_TRACEPOINT_EVENT(
    countrace_peer, exit, LTTNG_UST_TP_ARGS(unsigned long, value),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned long, value, value)))
// The fields of countrace's own events (hooks/lttng/hook_tracepoints.h).
LTTNG_UST_TRACEPOINT_EVENT_CLASS(
    countrace_peer, same_fields,
    LTTNG_UST_TP_ARGS(unsigned, id, const char*, name, const char*, payload),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, id, id)
                            lttng_ust_field_string(name, name)
                                lttng_ust_field_string(payload, payload)
                                    lttng_ust_field_sequence(long, values,
                                                             (const long*)0,
                                                             unsigned char, 0)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(
    countrace_peer, same_fields, countrace_peer, same_enter,
    LTTNG_UST_TP_ARGS(unsigned, id, const char*, name, const char*, payload))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(
    countrace_peer, same_fields, countrace_peer, same_exit,
    LTTNG_UST_TP_ARGS(unsigned, id, const char*, name, const char*, payload))

#endif

#include <lttng/tracepoint-event.h>
