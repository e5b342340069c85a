/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* countrace hooks for the kernel's own code: modules and drivers.
 *
 *   COUNTRACE_SEGMENT("drv", "handle");         enter here, exit at the end of
 *                                               the scope
 *   COUNTRACE_SEGMENT("drv", "handle", id);     with values, up to 6
 *   COUNTRACE_HOOK("drv", "bytes", n, name);    a point hook
 *
 *   COUNTRACE_ENTER("drv", "phase", n);         a segment that is not a scope;
 *   COUNTRACE_EXIT("drv", "phase");             in the same thread or interrupt
 *
 *   COUNTRACE_SEGMENT_ID(42, "drv", "handle");  with an explicit hook id,
 *   COUNTRACE_HOOK_ID(43, "drv", "bytes", n);   1..4095
 *
 * Provider (usually the module's name) and name are string literals of
 * [A-Za-z0-9_.-]. Values are integers, enums, texts (at most 255 bytes of them
 * are stored) and pointers; they are evaluated only while the hook is attached.
 *
 *   countrace record -a --hook tracepoint:drv:ENTER/EXIT ...  (their events)
 *
 * Each hook is a static tracepoint and an event of tracefs, events/PROVIDER/
 * NAME__KIND__FILE_LINE, which perf and trace-cmd record too. While nothing is
 * attached, it is a nop that a static key patches.
 *
 * In the module's Kbuild file:
 *   ccflags-y += -I<folder of this file>
 * Linux 5.10 or later; the module's license must be compatible with the GPL.
 * Include it behind the kernel's headers, and before any header that is
 * included with CREATE_TRACE_POINTS. Not for code where tracing is not allowed
 * (noinstr, NMI entry) nor where RCU does not watch (idle loops).
 *
 * Define COUNTRACE_DISABLE to compile every hook to nothing.
 */
#ifndef COUNTRACE_KERNEL_HOOKS_H_
#define COUNTRACE_KERNEL_HOOKS_H_

#if defined(COUNTRACE_DISABLE) || !defined(CONFIG_TRACEPOINTS)

#define COUNTRACE_SEGMENT(...) ((void)0)
#define COUNTRACE_SEGMENT_ID(...) ((void)0)
#define COUNTRACE_HOOK(...) ((void)0)
#define COUNTRACE_HOOK_ID(...) ((void)0)
#define COUNTRACE_ENTER(...) ((void)0)
#define COUNTRACE_EXIT(...) ((void)0)

#else

#include <linux/jump_label.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

#ifdef CREATE_TRACE_POINTS
#error "include countrace_kernel_hooks.h before CREATE_TRACE_POINTS is defined"
#endif
#define CREATE_TRACE_POINTS
#include "countrace_kernel_event.h"
#undef CREATE_TRACE_POINTS

/* --- Values ---------------------------------------------------------------- */

#define COUNTRACE_DETAIL_SELECT(x, int_, unsigned_, text_, pointer_) \
  _Generic((x),                                                      \
      _Bool: unsigned_,                                              \
      char: int_,                                                    \
      signed char: int_,                                             \
      short: int_,                                                   \
      int: int_,                                                     \
      long: int_,                                                    \
      long long: int_,                                               \
      unsigned char: unsigned_,                                      \
      unsigned short: unsigned_,                                     \
      unsigned int: unsigned_,                                       \
      unsigned long: unsigned_,                                      \
      unsigned long long: unsigned_,                                 \
      char*: text_,                                                  \
      const char*: text_,                                            \
      default: pointer_)

static inline struct countrace_detail_value countrace_detail_int(s64 v) {
  return (struct countrace_detail_value){(u64)v, NULL, 0};
}
static inline struct countrace_detail_value countrace_detail_unsigned(u64 v) {
  return (struct countrace_detail_value){v, NULL, 0};
}
static inline struct countrace_detail_value countrace_detail_text(
    const char* v) {
  return (struct countrace_detail_value){0, v ? v : "(null)", 0};
}
static inline struct countrace_detail_value countrace_detail_pointer(
    const void* v) {
  return (struct countrace_detail_value){(unsigned long)v, NULL, 0};
}

#define COUNTRACE_DETAIL_VALUE(i, x)                                          \
  COUNTRACE_DETAIL_SELECT(x, countrace_detail_int, countrace_detail_unsigned, \
                          countrace_detail_text, countrace_detail_pointer)    \
  (x)
/* The field of the format file. */
#define COUNTRACE_DETAIL_FIELD(i, x)                                      \
  {                                                                       \
    .type = COUNTRACE_DETAIL_SELECT(x, "s64", "u64", "__data_loc char[]", \
                                    "void *"),                            \
    .name = "arg" #i, .size = COUNTRACE_DETAIL_SELECT(x, 8, 8, 4, 8),     \
    .align = 8, .is_signed = COUNTRACE_DETAIL_SELECT(x, 1, 0, 0, 0),      \
    .filter_type = FILTER_OTHER                                           \
  }

#define COUNTRACE_DETAIL_CAT2(a, b) a##b
#define COUNTRACE_DETAIL_CAT(a, b) COUNTRACE_DETAIL_CAT2(a, b)
/* From (id, provider, name, values...) to M(id, provider, name, fields,
 * values). */
#define COUNTRACE_DETAIL_CALL(M, ...)                       \
  COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_CALL_,              \
                       COUNTRACE_DETAIL_COUNT(__VA_ARGS__)) \
  (M, __VA_ARGS__)
#define COUNTRACE_DETAIL_COUNT(...) \
  COUNTRACE_DETAIL_COUNT_(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, few, few, few)
#define COUNTRACE_DETAIL_COUNT_(id, provider, name, a, b, c, d, e, f, n, ...) n
#define COUNTRACE_DETAIL_CALL_0(M, id, provider, name) \
  M(id, provider, name, (), ())
#define COUNTRACE_DETAIL_CALL_1(M, id, provider, name, a)     \
  M(id, provider, name, (COUNTRACE_DETAIL_MAP_1(FIELD, a), ), \
    (COUNTRACE_DETAIL_MAP_1(VALUE, a)))
#define COUNTRACE_DETAIL_CALL_2(M, id, provider, name, a, b)     \
  M(id, provider, name, (COUNTRACE_DETAIL_MAP_2(FIELD, a, b), ), \
    (COUNTRACE_DETAIL_MAP_2(VALUE, a, b)))
#define COUNTRACE_DETAIL_CALL_3(M, id, provider, name, a, b, c)     \
  M(id, provider, name, (COUNTRACE_DETAIL_MAP_3(FIELD, a, b, c), ), \
    (COUNTRACE_DETAIL_MAP_3(VALUE, a, b, c)))
#define COUNTRACE_DETAIL_CALL_4(M, id, provider, name, a, b, c, d)     \
  M(id, provider, name, (COUNTRACE_DETAIL_MAP_4(FIELD, a, b, c, d), ), \
    (COUNTRACE_DETAIL_MAP_4(VALUE, a, b, c, d)))
#define COUNTRACE_DETAIL_CALL_5(M, id, provider, name, a, b, c, d, e)     \
  M(id, provider, name, (COUNTRACE_DETAIL_MAP_5(FIELD, a, b, c, d, e), ), \
    (COUNTRACE_DETAIL_MAP_5(VALUE, a, b, c, d, e)))
#define COUNTRACE_DETAIL_CALL_6(M, id, provider, name, a, b, c, d, e, f)     \
  M(id, provider, name, (COUNTRACE_DETAIL_MAP_6(FIELD, a, b, c, d, e, f), ), \
    (COUNTRACE_DETAIL_MAP_6(VALUE, a, b, c, d, e, f)))
#define COUNTRACE_DETAIL_MAP_1(M, a) COUNTRACE_DETAIL_##M(0, a)
#define COUNTRACE_DETAIL_MAP_2(M, a, b) \
  COUNTRACE_DETAIL_MAP_1(M, a), COUNTRACE_DETAIL_##M(1, b)
#define COUNTRACE_DETAIL_MAP_3(M, a, b, c) \
  COUNTRACE_DETAIL_MAP_2(M, a, b), COUNTRACE_DETAIL_##M(2, c)
#define COUNTRACE_DETAIL_MAP_4(M, a, b, c, d) \
  COUNTRACE_DETAIL_MAP_3(M, a, b, c), COUNTRACE_DETAIL_##M(3, d)
#define COUNTRACE_DETAIL_MAP_5(M, a, b, c, d, e) \
  COUNTRACE_DETAIL_MAP_4(M, a, b, c, d), COUNTRACE_DETAIL_##M(4, e)
#define COUNTRACE_DETAIL_MAP_6(M, a, b, c, d, e, f) \
  COUNTRACE_DETAIL_MAP_5(M, a, b, c, d, e), COUNTRACE_DETAIL_##M(5, f)
#define COUNTRACE_DETAIL_LIST(...) __VA_ARGS__

/* --- One place ------------------------------------------------------------- */

/* Not inlined: the hook's place holds the nop and a call out of line. */
static noinline notrace __maybe_unused void countrace_detail_emit(
    const struct tracepoint* tp, struct countrace_detail_value* values,
    u32 count) {
  typedef void (*probe)(void*, const struct countrace_detail_hit*);
  struct countrace_detail_hit hit = {values, count, 0};
  const struct tracepoint_func* to;
  u32 i;

  /* Of the class, which no event has alone. */
  (void)__bpf_trace_countrace_detail_hook;
  (void)print_fmt_countrace_detail_hook;
  for (i = 0; i < count; ++i) {
    if (!values[i].text) continue;
    values[i].text_bytes =
        (u32)strnlen(values[i].text, COUNTRACE_DETAIL_MAX_TEXT - 1) + 1;
    hit.text_bytes += values[i].text_bytes;
  }
  preempt_disable_notrace();
  to = rcu_dereference_raw(tp->funcs);
  for (; to && to->func; ++to) ((probe)to->func)(to->data, &hit);
  preempt_enable_notrace();
}

static __maybe_unused __always_inline void countrace_detail_leave(
    const struct tracepoint** exit) {
  if (unlikely(*exit)) countrace_detail_emit(*exit, NULL, 0);
}

/* As in the kernel's DEFINE_TRACE: modules list their tracepoints there. */
#ifdef CONFIG_HAVE_ARCH_PREL32_RELOCATIONS
#define COUNTRACE_DETAIL_ENTRY(tp)                  \
  asm(".pushsection __tracepoints_ptrs, \"a\"\n"    \
      "\t.balign 4\n\t.long %c0 - .\n\t.popsection" \
      :                                             \
      : "i"(&(tp)))
#else
#define COUNTRACE_DETAIL_ENTRY(tp)                                 \
  static struct tracepoint* const COUNTRACE_DETAIL_CAT(tp, _entry) \
      __used __section("__tracepoints_ptrs") = &(tp)
#endif

#ifdef CONFIG_PERF_EVENTS
#define COUNTRACE_DETAIL_PERF_PROBE \
  .perf_probe = perf_trace_countrace_detail_hook,
#else
#define COUNTRACE_DETAIL_PERF_PROBE
#endif

/* Declares tracepoint `site` and its event, which a recorder finds by its
 * print format: "countrace KIND PROVIDER:NAME ID FILE:LINE". */
#define COUNTRACE_DETAIL_SITE(site, kind, id, provider, name_, fields_)       \
  static struct tracepoint site __used __section("__tracepoints") = {         \
      .name = name_ "__" kind "__" KBUILD_BASENAME "_" __stringify(__LINE__), \
  };                                                                          \
  static struct trace_event_fields COUNTRACE_DETAIL_CAT(                      \
      site, _fields)[] = {COUNTRACE_DETAIL_LIST fields_{}};                   \
  static struct trace_event_class COUNTRACE_DETAIL_CAT(site, _class) = {      \
      .system = provider,                                                     \
      .fields_array = COUNTRACE_DETAIL_CAT(site, _fields),                    \
      .fields = LIST_HEAD_INIT(COUNTRACE_DETAIL_CAT(site, _class).fields),    \
      .raw_init = trace_event_raw_init,                                       \
      .probe = trace_event_raw_event_countrace_detail_hook,                   \
      .reg = trace_event_reg,                                                 \
      COUNTRACE_DETAIL_PERF_PROBE};                                           \
  static char COUNTRACE_DETAIL_CAT(site, _print)[] =                          \
      "\"countrace " kind " " provider ":" name_                              \
      " " __stringify(id) " " __FILE__ ":" __stringify(__LINE__) "\"";        \
  static struct trace_event_call COUNTRACE_DETAIL_CAT(site, _call) = {        \
      .class = &COUNTRACE_DETAIL_CAT(site, _class),                           \
      {.tp = &site},                                                          \
      .event.funcs = &trace_event_type_funcs_countrace_detail_hook,           \
      .print_fmt = COUNTRACE_DETAIL_CAT(site, _print),                        \
      .flags = TRACE_EVENT_FL_TRACEPOINT,                                     \
  };                                                                          \
  static struct trace_event_call* COUNTRACE_DETAIL_CAT(site, _listed)         \
  __used __section("_ftrace_events") = &COUNTRACE_DETAIL_CAT(site, _call)

/* Its key became a struct static_key_false in Linux 6.13, which begins with the
 * other one. */
#define COUNTRACE_DETAIL_IS_ON(tp) \
  static_key_false((struct static_key*)&(tp).key)

/* Whether something is attached: then the values are evaluated and emitted. */
#define COUNTRACE_DETAIL_FIRE(tp, values_)                   \
  ({                                                         \
    bool countrace_detail_on = false;                        \
    COUNTRACE_DETAIL_ENTRY(tp);                              \
    if (COUNTRACE_DETAIL_IS_ON(tp)) {                        \
      struct countrace_detail_value countrace_detail_v[] = { \
          COUNTRACE_DETAIL_LIST values_};                    \
      countrace_detail_emit(&(tp), countrace_detail_v,       \
                            ARRAY_SIZE(countrace_detail_v)); \
      countrace_detail_on = true;                            \
    }                                                        \
    countrace_detail_on;                                     \
  })

#define COUNTRACE_DETAIL_ONE(kind, id, provider, name, fields, values)     \
  do {                                                                     \
    COUNTRACE_DETAIL_SITE(countrace_detail_site, kind, id, provider, name, \
                          fields);                                         \
    (void)COUNTRACE_DETAIL_FIRE(countrace_detail_site, values);            \
  } while (0)

#define COUNTRACE_DETAIL_POINT(id, provider, name, fields, values) \
  COUNTRACE_DETAIL_ONE("point", id, provider, name, fields, values)
#define COUNTRACE_DETAIL_ENTER(id, provider, name, fields, values) \
  COUNTRACE_DETAIL_ONE("enter", id, provider, name, fields, values)
/* An exit is emitted if the enter was: off, the end of the scope is free. */
#define COUNTRACE_DETAIL_SCOPE(id, provider, name, fields, values)             \
  const struct tracepoint* COUNTRACE_DETAIL_CAT(countrace_detail_scope_,       \
                                                __LINE__)                      \
  __maybe_unused __attribute__((__cleanup__(countrace_detail_leave))) = ({     \
    COUNTRACE_DETAIL_SITE(countrace_detail_enter, "enter", id, provider, name, \
                          fields);                                             \
    COUNTRACE_DETAIL_SITE(countrace_detail_exit, "exit", id, provider, name,   \
                          ());                                                 \
    COUNTRACE_DETAIL_ENTRY(countrace_detail_exit);                             \
    COUNTRACE_DETAIL_FIRE(countrace_detail_enter, values)                      \
    ? &countrace_detail_exit : NULL;                                           \
  })

#define COUNTRACE_SEGMENT_ID(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_SCOPE, __VA_ARGS__)
#define COUNTRACE_SEGMENT(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_SCOPE, 0, __VA_ARGS__)
#define COUNTRACE_HOOK_ID(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_POINT, __VA_ARGS__)
#define COUNTRACE_HOOK(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_POINT, 0, __VA_ARGS__)
#define COUNTRACE_ENTER(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_ENTER, 0, __VA_ARGS__)
#define COUNTRACE_EXIT(provider, name) \
  COUNTRACE_DETAIL_ONE("exit", 0, provider, name, (), ())

#endif /* COUNTRACE_DISABLE */

#endif /* COUNTRACE_KERNEL_HOOKS_H_ */
