// Tracepoints of ust_workload: one of every field type that LTTng-UST has, and
// pairs for segments.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./ust_workload_tracepoints.h"

#if !defined(COUNTRACE_TESTS_IMPORT_UST_WORKLOAD_TRACEPOINTS_H_) || \
    defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define COUNTRACE_TESTS_IMPORT_UST_WORKLOAD_TRACEPOINTS_H_

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(
    shop, payment,
    LTTNG_UST_TP_ENUM_VALUES(lttng_ust_field_enum_value("CASH", 0)
                                 lttng_ust_field_enum_value("CARD", 1)
                                     lttng_ust_field_enum_range("OTHER", 2, 9)))

LTTNG_UST_TRACEPOINT_EVENT(
    shop, serve_begin,
    LTTNG_UST_TP_ARGS(uint64_t, order, const char*, customer),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, order, order)
                            lttng_ust_field_string(customer, customer)))
LTTNG_UST_TRACEPOINT_EVENT(
    shop, serve_end, LTTNG_UST_TP_ARGS(uint64_t, order),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, order, order)))
LTTNG_UST_TRACEPOINT_EVENT(shop, weigh_begin, LTTNG_UST_TP_ARGS(),
                           LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(shop, weigh_end, LTTNG_UST_TP_ARGS(),
                           LTTNG_UST_TP_FIELDS())
// An order is taken by one thread and delivered by another.
LTTNG_UST_TRACEPOINT_EVENT(shop, order_taken, LTTNG_UST_TP_ARGS(uint64_t, id),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t,
                                                                       id, id)))
LTTNG_UST_TRACEPOINT_EVENT(shop, order_delivered,
                           LTTNG_UST_TP_ARGS(uint64_t, id),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t,
                                                                       id, id)))
LTTNG_UST_TRACEPOINT_EVENT(
    shop, everything,
    LTTNG_UST_TP_ARGS(int, number, double, price, const int32_t*, list, size_t,
                      length),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int, number, number)
            lttng_ust_field_integer_hex(unsigned, flags, 0xabcu)
                lttng_ust_field_float(double, price, price)
                    lttng_ust_field_enum(shop, payment, int, how, number % 4)
                        lttng_ust_field_sequence(int32_t, list, list, size_t,
                                                 length)
                            lttng_ust_field_array(int32_t, pair, list, 2)
                                lttng_ust_field_array_text(char, tag, "abcdefg",
                                                           8)
                                    lttng_ust_field_string(note, "a \"note\"")))
// The smallest possible event.
LTTNG_UST_TRACEPOINT_EVENT(shop, tick, LTTNG_UST_TP_ARGS(int, n),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n,
                                                                       n)))

#endif  // COUNTRACE_TESTS_IMPORT_UST_WORKLOAD_TRACEPOINTS_H_

#include <lttng/tracepoint-event.h>
