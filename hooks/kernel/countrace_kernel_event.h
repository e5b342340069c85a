/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The kernel's side of a hook's record: one event class, which the kernel's
 * macros of TRACE_EVENT make. They read this file several times: include
 * countrace_kernel_hooks.h instead.
 *
 * Each hook is an event of its own with this class's functions. Its values are
 * the first of `values`; a text is a __data_loc into `text`.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM countrace

#if !defined(COUNTRACE_KERNEL_EVENT_H_) || defined(TRACE_HEADER_MULTI_READ)
#define COUNTRACE_KERNEL_EVENT_H_

#include <linux/tracepoint.h>

#ifndef COUNTRACE_DETAIL_MAX_VALUES
#define COUNTRACE_DETAIL_MAX_VALUES 6
/* With its NUL. */
#define COUNTRACE_DETAIL_MAX_TEXT 256

struct countrace_detail_value {
  u64 bits;
  const char* text; /* null: a number */
  /* With a NUL; measured once, since the text may change meanwhile. */
  u32 text_bytes;
};

struct countrace_detail_hit {
  const struct countrace_detail_value* values;
  u32 count;
  u32 text_bytes; /* of all texts, each with its NUL */
};

/* `text`: room for the texts, at byte `offset` of the record. */
static inline void countrace_detail_store(
    u64* values, char* text, u32 offset,
    const struct countrace_detail_hit* hit) {
  u32 i;

  for (i = 0; i < COUNTRACE_DETAIL_MAX_VALUES; ++i) {
    u32 bytes;

    values[i] = 0;
    if (i >= hit->count) continue;
    values[i] = hit->values[i].bits;
    if (!hit->values[i].text) continue;
    bytes = hit->values[i].text_bytes;
    memcpy(text, hit->values[i].text, bytes - 1);
    text[bytes - 1] = 0;
    *(u32*)&values[i] = offset | bytes << 16;
    text += bytes;
    offset += bytes;
  }
}
#endif

/* clang-format off */
DECLARE_EVENT_CLASS(countrace_detail_hook,
  TP_PROTO(const struct countrace_detail_hit* hit),
  TP_ARGS(hit),
  TP_STRUCT__entry(
    __array(u64, values, COUNTRACE_DETAIL_MAX_VALUES)
    __dynamic_array(char, text, hit->text_bytes)
  ),
  TP_fast_assign(
    countrace_detail_store(
        __entry->values, (char*)__get_dynamic_array(text),
        (u32)((char*)__get_dynamic_array(text) - (char*)__entry), hit);
  ),
  TP_printk("%llx %llx %llx %llx %llx %llx", __entry->values[0],
            __entry->values[1], __entry->values[2], __entry->values[3],
            __entry->values[4], __entry->values[5])
);
/* clang-format on */

#endif /* COUNTRACE_KERNEL_EVENT_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE countrace_kernel_event
#include <trace/define_trace.h>
