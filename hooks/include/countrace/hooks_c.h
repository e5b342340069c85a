/* C side of hooks.h (C11, GNU dialect: gcc and clang). Include
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

#define COUNTRACE_DETAIL_SELECT(x, int_, unsigned_, double_, string_, \
                                pointer_)                             \
  _Generic((x),                                                                \
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

/* ACTION(x1), ACTION(x2), ... for 0 to 6 arguments. */
#define COUNTRACE_DETAIL_CAT2(a, b) a##b
#define COUNTRACE_DETAIL_CAT(a, b) COUNTRACE_DETAIL_CAT2(a, b)
#define COUNTRACE_DETAIL_COUNT(...) \
  COUNTRACE_DETAIL_COUNT_(_, ##__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)
#define COUNTRACE_DETAIL_COUNT_(z, a, b, c, d, e, f, n, ...) n
#define COUNTRACE_DETAIL_MAP_0(M)
#define COUNTRACE_DETAIL_MAP_1(M, a) M(a)
#define COUNTRACE_DETAIL_MAP_2(M, a, b) M(a), M(b)
#define COUNTRACE_DETAIL_MAP_3(M, a, b, c) M(a), M(b), M(c)
#define COUNTRACE_DETAIL_MAP_4(M, a, b, c, d) M(a), M(b), M(c), M(d)
#define COUNTRACE_DETAIL_MAP_5(M, a, b, c, d, e) M(a), M(b), M(c), M(d), M(e)
#define COUNTRACE_DETAIL_MAP_6(M, a, b, c, d, e, f) \
  M(a), M(b), M(c), M(d), M(e), M(f)
#define COUNTRACE_DETAIL_MAP(M, ...)                        \
  COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_MAP_,               \
                       COUNTRACE_DETAIL_COUNT(__VA_ARGS__)) \
  (M, ##__VA_ARGS__)

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
#define COUNTRACE_DETAIL_FIRE(kind_, id_, provider_, name_, probe_, event_,    \
                              n_, ...)                                         \
  do {                                                                         \
    static struct countrace_hook_site countrace_detail_site = {                \
        .bytes = sizeof(struct countrace_hook_site),                           \
        .hook_id = (id_),                                                      \
        .line = __LINE__,                                                      \
        .kind = (kind_),                                                       \
        .count = (n_),                                                         \
        .types = {COUNTRACE_DETAIL_MAP(COUNTRACE_DETAIL_TYPE, ##__VA_ARGS__)}, \
        .provider = provider_,                                                 \
        .name = name_,                                                         \
        .file = __FILE__};                                                     \
    COUNTRACE_DETAIL_LIST_SITE(&countrace_detail_site);                        \
    if (__builtin_expect(__atomic_load_n(&countrace_detail_site.gate.word,     \
                                         __ATOMIC_RELAXED) != 0,               \
                         0)) {                                                 \
      const struct countrace_value countrace_detail_v[(n_) + 1] = {            \
          COUNTRACE_DETAIL_MAP(COUNTRACE_DETAIL_VALUE, ##__VA_ARGS__)};        \
      (void)countrace_detail_v;                                                \
      if (__atomic_load_n(&countrace_detail_site.gate.part.enabled,            \
                          __ATOMIC_ACQUIRE) != 0) {                            \
        event_(countrace_detail_site, countrace_detail_v);                     \
      }                                                                        \
      if (__atomic_load_n(&countrace_detail_site.gate.part.lttng_state,        \
                          __ATOMIC_ACQUIRE) != 0) {                            \
        countrace_detail_site.lttng->emit(&countrace_detail_site, (kind_),     \
                                          countrace_detail_v);                 \
      }                                                                        \
      COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_USDT_, n_)                         \
      (provider_, probe_, &countrace_detail_site.gate, countrace_detail_v);    \
    }                                                                          \
  } while (0)

#define COUNTRACE_DETAIL_FIRE_COUNTED(kind_, id_, provider_, name_, probe_,   \
                                      n_, ...)                                \
  COUNTRACE_DETAIL_FIRE(kind_, id_, provider_, name_, probe_,                 \
                        COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_EMIT_, n_), n_, \
                        ##__VA_ARGS__)

#define COUNTRACE_HOOK_ID(id, provider, name, ...)                         \
  COUNTRACE_DETAIL_FIRE_COUNTED(COUNTRACE_SITE_POINT, id, provider, name,  \
                                name, COUNTRACE_DETAIL_COUNT(__VA_ARGS__), \
                                ##__VA_ARGS__)
#define COUNTRACE_HOOK(provider, name, ...) \
  COUNTRACE_HOOK_ID(0, provider, name, ##__VA_ARGS__)
#define COUNTRACE_ENTER(provider, name, ...)                     \
  COUNTRACE_DETAIL_FIRE_COUNTED(                                 \
      COUNTRACE_SITE_SEGMENT, 0, provider, name, name "__enter", \
      COUNTRACE_DETAIL_COUNT(__VA_ARGS__), ##__VA_ARGS__)
#define COUNTRACE_EXIT(provider, name)                                         \
  COUNTRACE_DETAIL_FIRE(COUNTRACE_SITE_EXIT, 0, provider, name, name "__exit", \
                        COUNTRACE_DETAIL_EMIT_0, 0)

#endif /* COUNTRACE_HOOKS_C_H_ */
