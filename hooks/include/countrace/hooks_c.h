/* C side of hooks.h (C99 and later: gcc and clang). Include
 * "countrace/hooks.h" instead. C runs no code at the end of a scope, so
 * segments are COUNTRACE_ENTER and COUNTRACE_EXIT.
 */
#ifndef COUNTRACE_HOOKS_C_H_
#define COUNTRACE_HOOKS_C_H_

#include <stdint.h>
#include <string.h>

#include "countrace/announce.h"
#include "countrace/hook_site.h"
#include "countrace/usdt.h"

static inline struct countrace_value countrace_detail_int(int64_t v) {
  struct countrace_value out = {{.i = v}, 0};
  return out;
}
static inline struct countrace_value countrace_detail_unsigned(uint64_t v) {
  struct countrace_value out = {{.u = v}, 0};
  return out;
}
static inline struct countrace_value countrace_detail_double(double v) {
  struct countrace_value out = {{.d = v}, 0};
  return out;
}
static inline struct countrace_value countrace_detail_string(const char* v) {
  struct countrace_value out = {{.s = v != NULL ? v : "(null)"}, 0};
  out.bytes = strlen(out.as.s);
  return out;
}
static inline struct countrace_value countrace_detail_pointer(const void* v) {
  struct countrace_value out = {{.p = v}, 0};
  return out;
}

/* Before C11, _Generic is an extension of both compilers. */
#define COUNTRACE_DETAIL_SELECT(x, int_, unsigned_, double_, string_, \
                                pointer_)                             \
  __extension__ _Generic((x),                                                  \
      _Bool: unsigned_,                                                        \
      char: int_,                                                              \
      signed char: int_,                                                       \
      short: int_,                                                             \
      int: int_,                                                               \
      long: int_,                                                              \
      long long: int_,                                                         \
      unsigned char: unsigned_,                                                \
      unsigned short: unsigned_,                                               \
      unsigned int: unsigned_,                                                 \
      unsigned long: unsigned_,                                                \
      unsigned long long: unsigned_,                                           \
      float: double_,                                                          \
      double: double_,                                                         \
      char*: string_,                                                          \
      const char*: string_,                                                    \
      default: pointer_)

#define COUNTRACE_DETAIL_TYPE(x)                                          \
  COUNTRACE_DETAIL_SELECT(x, COUNTRACE_TYPE_INT, COUNTRACE_TYPE_UNSIGNED, \
                          COUNTRACE_TYPE_DOUBLE, COUNTRACE_TYPE_STRING,   \
                          COUNTRACE_TYPE_POINTER)
#define COUNTRACE_DETAIL_VALUE(x)                                             \
  COUNTRACE_DETAIL_SELECT(x, countrace_detail_int, countrace_detail_unsigned, \
                          countrace_detail_double, countrace_detail_string,   \
                          countrace_detail_pointer)                           \
  (x)

#define COUNTRACE_DETAIL_CAT2(a, b) a##b
#define COUNTRACE_DETAIL_CAT(a, b) COUNTRACE_DETAIL_CAT2(a, b)
#define COUNTRACE_DETAIL_LIST(...) __VA_ARGS__

/* From (id, provider, name, values...) to M(id, provider, name, number of
 * values, their types, their values). No macro is called without an argument
 * for its "...", which older standards forbid. */
#define COUNTRACE_DETAIL_CALL(M, ...)                       \
  COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_CALL_,              \
                       COUNTRACE_DETAIL_COUNT(__VA_ARGS__)) \
  (M, __VA_ARGS__)
#define COUNTRACE_DETAIL_COUNT(...) \
  COUNTRACE_DETAIL_COUNT_(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, few, few, few)
#define COUNTRACE_DETAIL_COUNT_(id, provider, name, a, b, c, d, e, f, n, ...) n
#define COUNTRACE_DETAIL_CALL_0(M, id, provider, name) \
  M(id, provider, name, 0, (0), ({{0}, 0}))
#define COUNTRACE_DETAIL_CALL_1(M, id, provider, name, a)     \
  M(id, provider, name, 1, (COUNTRACE_DETAIL_MAP_1(TYPE, a)), \
    (COUNTRACE_DETAIL_MAP_1(VALUE, a)))
#define COUNTRACE_DETAIL_CALL_2(M, id, provider, name, a, b)     \
  M(id, provider, name, 2, (COUNTRACE_DETAIL_MAP_2(TYPE, a, b)), \
    (COUNTRACE_DETAIL_MAP_2(VALUE, a, b)))
#define COUNTRACE_DETAIL_CALL_3(M, id, provider, name, a, b, c)     \
  M(id, provider, name, 3, (COUNTRACE_DETAIL_MAP_3(TYPE, a, b, c)), \
    (COUNTRACE_DETAIL_MAP_3(VALUE, a, b, c)))
#define COUNTRACE_DETAIL_CALL_4(M, id, provider, name, a, b, c, d)     \
  M(id, provider, name, 4, (COUNTRACE_DETAIL_MAP_4(TYPE, a, b, c, d)), \
    (COUNTRACE_DETAIL_MAP_4(VALUE, a, b, c, d)))
#define COUNTRACE_DETAIL_CALL_5(M, id, provider, name, a, b, c, d, e)     \
  M(id, provider, name, 5, (COUNTRACE_DETAIL_MAP_5(TYPE, a, b, c, d, e)), \
    (COUNTRACE_DETAIL_MAP_5(VALUE, a, b, c, d, e)))
#define COUNTRACE_DETAIL_CALL_6(M, id, provider, name, a, b, c, d, e, f)     \
  M(id, provider, name, 6, (COUNTRACE_DETAIL_MAP_6(TYPE, a, b, c, d, e, f)), \
    (COUNTRACE_DETAIL_MAP_6(VALUE, a, b, c, d, e, f)))
#define COUNTRACE_DETAIL_MAP_1(M, a) COUNTRACE_DETAIL_##M(a)
#define COUNTRACE_DETAIL_MAP_2(M, a, b) \
  COUNTRACE_DETAIL_MAP_1(M, a), COUNTRACE_DETAIL_##M(b)
#define COUNTRACE_DETAIL_MAP_3(M, a, b, c) \
  COUNTRACE_DETAIL_MAP_2(M, a, b), COUNTRACE_DETAIL_##M(c)
#define COUNTRACE_DETAIL_MAP_4(M, a, b, c, d) \
  COUNTRACE_DETAIL_MAP_3(M, a, b, c), COUNTRACE_DETAIL_##M(d)
#define COUNTRACE_DETAIL_MAP_5(M, a, b, c, d, e) \
  COUNTRACE_DETAIL_MAP_4(M, a, b, c, d), COUNTRACE_DETAIL_##M(e)
#define COUNTRACE_DETAIL_MAP_6(M, a, b, c, d, e, f) \
  COUNTRACE_DETAIL_MAP_5(M, a, b, c, d, e), COUNTRACE_DETAIL_##M(f)

#define COUNTRACE_DETAIL_USDT_0(provider, probe, gate, v) \
  COUNTRACE_DETAIL_USDT(provider, probe, gate)

#define COUNTRACE_DETAIL_EMIT_0(site, v) (site).sink->emit((site).event_id)
#define COUNTRACE_DETAIL_EMIT_N(site, v)                   \
  (site).sink->emit_payload(&(site), (site).event_id, (v), \
                            (uint32_t)(sizeof(v) / sizeof((v)[0])) - 1u)
#define COUNTRACE_DETAIL_EMIT_1 COUNTRACE_DETAIL_EMIT_N
#define COUNTRACE_DETAIL_EMIT_2 COUNTRACE_DETAIL_EMIT_N
#define COUNTRACE_DETAIL_EMIT_3 COUNTRACE_DETAIL_EMIT_N
#define COUNTRACE_DETAIL_EMIT_4 COUNTRACE_DETAIL_EMIT_N
#define COUNTRACE_DETAIL_EMIT_5 COUNTRACE_DETAIL_EMIT_N
#define COUNTRACE_DETAIL_EMIT_6 COUNTRACE_DETAIL_EMIT_N

/* The value array ends with one unused element: C has no empty arrays. */
#define COUNTRACE_DETAIL_FIRE(kind_, id_, provider_, name_, probe_, n_,     \
                              types_, values_)                              \
  do {                                                                      \
    static struct countrace_hook_site countrace_detail_site = {             \
        .bytes = sizeof(struct countrace_hook_site),                        \
        .hook_id = (id_),                                                   \
        .line = __LINE__,                                                   \
        .kind = (kind_),                                                    \
        .count = (n_),                                                      \
        .types = {COUNTRACE_DETAIL_LIST types_},                            \
        .provider = provider_,                                              \
        .name = name_,                                                      \
        .file = __FILE__};                                                  \
    COUNTRACE_DETAIL_LIST_SITE(&countrace_detail_site);                     \
    if (__builtin_expect(__atomic_load_n(&countrace_detail_site.gate.word,  \
                                         __ATOMIC_RELAXED) != 0,            \
                         0)) {                                              \
      const struct countrace_value countrace_detail_v[(n_) + 1] = {         \
          COUNTRACE_DETAIL_LIST values_};                                   \
      (void)countrace_detail_v;                                             \
      if (__atomic_load_n(&countrace_detail_site.gate.part.enabled,         \
                          __ATOMIC_ACQUIRE) != 0) {                         \
        COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_EMIT_, n_)                    \
        (countrace_detail_site, countrace_detail_v);                        \
      }                                                                     \
      if (__atomic_load_n(&countrace_detail_site.gate.part.lttng_state,     \
                          __ATOMIC_ACQUIRE) != 0) {                         \
        countrace_detail_site.lttng->emit(&countrace_detail_site, (kind_),  \
                                          countrace_detail_v);              \
      }                                                                     \
      COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_USDT_, n_)                      \
      (provider_, probe_, &countrace_detail_site.gate, countrace_detail_v); \
    }                                                                       \
  } while (0)

#define COUNTRACE_DETAIL_POINT(id, provider, name, n, types, values)       \
  COUNTRACE_DETAIL_FIRE(COUNTRACE_SITE_POINT, id, provider, name, name, n, \
                        types, values)
#define COUNTRACE_DETAIL_ENTER(id, provider, name, n, types, values) \
  COUNTRACE_DETAIL_FIRE(COUNTRACE_SITE_SEGMENT, id, provider, name,  \
                        name "__enter", n, types, values)

#define COUNTRACE_HOOK_ID(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_POINT, __VA_ARGS__)
#define COUNTRACE_HOOK(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_POINT, 0, __VA_ARGS__)
#define COUNTRACE_ENTER(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_ENTER, 0, __VA_ARGS__)
#define COUNTRACE_EXIT(provider, name)                                         \
  COUNTRACE_DETAIL_FIRE(COUNTRACE_SITE_EXIT, 0, provider, name, name "__exit", \
                        0, (0), ({{0}, 0}))

#define COUNTRACE_DETAIL_LEVEL(scope, provider, name, on)                 \
  COUNTRACE_DETAIL_FIRE(COUNTRACE_SITE_POINT, 0, provider, name, name, 1, \
                        (COUNTRACE_TYPE_UNSIGNED, 0, 0, 0, 0, scope),     \
                        (countrace_detail_unsigned((uint64_t)((on) != 0))))
#define COUNTRACE_LEVEL(provider, name, on) \
  COUNTRACE_DETAIL_LEVEL(COUNTRACE_LEVEL_OF_THREAD, provider, name, on)
#define COUNTRACE_PROCESS_LEVEL(provider, name, on) \
  COUNTRACE_DETAIL_LEVEL(COUNTRACE_LEVEL_OF_PROCESS, provider, name, on)
#define COUNTRACE_MACHINE_LEVEL(provider, name, on) \
  COUNTRACE_DETAIL_LEVEL(COUNTRACE_LEVEL_OF_MACHINE, provider, name, on)

#endif /* COUNTRACE_HOOKS_C_H_ */
