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

#endif

#include <lttng/tracepoint-event.h>
