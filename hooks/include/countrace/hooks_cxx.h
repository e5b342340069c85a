// C++ side of hooks.h (C++17 and later). Include "countrace/hooks.h" instead.
#ifndef COUNTRACE_HOOKS_CXX_H_
#define COUNTRACE_HOOKS_CXX_H_

#if __cplusplus < 201703L
#error "countrace/hooks.h needs C++17: compile with -std=c++17 or later"
#else

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "countrace/announce.h"
#include "countrace/hook_site.h"
#include "countrace/usdt.h"

namespace countrace::detail {

template <typename T>
constexpr std::uint8_t TypeCode() {
  using U = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_convertible_v<const U&, std::string_view>) {
    return COUNTRACE_TYPE_STRING;
  } else if constexpr (std::is_floating_point_v<U>) {
    return COUNTRACE_TYPE_DOUBLE;
  } else if constexpr (std::is_enum_v<U>) {
    return TypeCode<std::underlying_type_t<U>>();
  } else if constexpr (std::is_integral_v<U>) {
    return std::is_signed_v<U> ? COUNTRACE_TYPE_INT : COUNTRACE_TYPE_UNSIGNED;
  } else {
    static_assert(std::is_pointer_v<std::decay_t<U>>,
                  "countrace: a payload value must be an integer, enum, "
                  "floating point number, string or pointer");
    return COUNTRACE_TYPE_POINTER;
  }
}

// The code of value `kPlace` of a site; 0: it has fewer.
template <std::size_t kPlace, typename... Ts>
constexpr std::uint8_t TypeAt() {
  constexpr std::uint8_t kTypes[] = {TypeCode<Ts>()..., 0};
  return kPlace < sizeof...(Ts) ? kTypes[kPlace] : std::uint8_t{0};
}

template <typename T>
inline countrace_value MakeValue(const T& value) noexcept {
  countrace_value out{};
  constexpr std::uint8_t kType = TypeCode<T>();
  if constexpr (kType == COUNTRACE_TYPE_STRING) {
    if constexpr (std::is_convertible_v<const T&, const char*>) {
      const char* text = value;
      if (text == nullptr) text = "(null)";
      const std::string_view view(text);
      out.as.s = view.data();
      out.bytes = view.size();
    } else {
      const std::string_view view(value);
      out.as.s = view.data();
      out.bytes = view.size();
    }
  } else if constexpr (kType == COUNTRACE_TYPE_DOUBLE) {
    out.as.d = static_cast<double>(value);
  } else if constexpr (kType == COUNTRACE_TYPE_INT) {
    out.as.i = static_cast<std::int64_t>(value);
  } else if constexpr (kType == COUNTRACE_TYPE_UNSIGNED) {
    out.as.u = static_cast<std::uint64_t>(value);
  } else {
    out.as.p = value;
  }
  return out;
}

template <typename... Ts>
struct Payload {
  static_assert(sizeof...(Ts) <= COUNTRACE_MAX_PAYLOAD_VALUES,
                "countrace: at most 6 payload values");
  static constexpr std::uint8_t kCount = sizeof...(Ts);
};
// Used in decltype only: the payload types of a macro's arguments.
template <typename... Ts>
Payload<std::decay_t<Ts>...> PayloadOf(const Ts&...);

constexpr bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}
constexpr bool IsName(std::string_view name) {
  for (const char c : name) {
    if (!IsNameCharacter(c)) return false;
  }
  return !name.empty() && name.size() <= 100;
}

// The consumers that were on at the enter of a scope. They also receive its
// exit, even if the hook was switched on or off in between.
enum ScopeState : std::uint8_t {
  kScopeOff = 0,
  kScopeOn = 1,  // any consumer
  kScopeRecorded = 2,
  kScopeInLttng = 4
};

// After the enter of a scope with the local variable `place`. In the frame of a
// coroutine, which is not on the stack, the scope may end before a later one of
// its segment: the runtime then stores which scope it is, and the result is
// `place`, else null. g++ mostly sees the kind of frame when it compiles.
__attribute__((always_inline)) inline void* EnterFrame(
    void* place, std::uint8_t state) noexcept {
#ifndef __clang__  // which still has the variable of a coroutine apart
  if (__builtin_object_size(place, 0) == sizeof(char)) return nullptr;
#endif
  constexpr std::uintptr_t kNear = 4096;
  char here;
  if (__builtin_expect(reinterpret_cast<std::uintptr_t>(place) -
                               reinterpret_cast<std::uintptr_t>(&here) +
                               kNear <=
                           2 * kNear,
                       1) ||
      (state & kScopeRecorded) == 0 || countrace_runtime_scope == nullptr) {
    return nullptr;
  }
  countrace_runtime_scope(place, 0);
  return place;
}

// The static descriptor of one hook site. `Tag` is a local type made by the
// macro. Hidden visibility makes its address a link-time constant in shared
// objects.
template <typename Tag, typename P>
struct Site;
template <typename Tag, typename... Ts>
struct Site<Tag, Payload<Ts...>> {
  static_assert(IsName(Tag::provider()) && IsName(Tag::name()),
                "countrace: provider and name are literals of [A-Za-z0-9_.-], "
                "1 to 100 characters");
  __attribute__((
      visibility("hidden"))) static inline countrace_hook_site site = {
      0,
      0,
      nullptr,
      nullptr,
      {0},
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      nullptr,
      sizeof(countrace_hook_site),
      Tag::hook_id(),
      Tag::line(),
      Tag::kind(),
      sizeof...(Ts),
      {TypeAt<0, Ts...>(), TypeAt<1, Ts...>(), TypeAt<2, Ts...>(),
       TypeAt<3, Ts...>(), TypeAt<4, Ts...>(),
       static_cast<std::uint8_t>(TypeAt<5, Ts...>() | Tag::level())},
      Tag::provider(),
      Tag::name(),
      Tag::file()};

  // --- Hot path (inline) ---
  static bool On() noexcept {
    // Relaxed is enough: the sink is published before the gate opens, and a
    // hook that reads the old gate value is counted as off.
    return __builtin_expect(
        __atomic_load_n(&site.gate.word, __ATOMIC_RELAXED) != 0, 0);
  }
  static bool Recording() noexcept {
    // Pairs with the release store of `enabled` in the runtime.
    return __atomic_load_n(&site.gate.part.enabled, __ATOMIC_ACQUIRE) != 0;
  }
  static void Emit() noexcept { site.sink->emit(site.event_id); }
  static void EmitExit() noexcept { site.sink->emit(site.event_id + 1); }
  static void EmitValues(const countrace_value* values) noexcept {
    site.sink->emit_payload(&site, site.event_id, values, sizeof...(Ts));
  }
  static bool InLttng() noexcept {
    return __atomic_load_n(&site.gate.part.lttng_state, __ATOMIC_ACQUIRE) != 0;
  }
  static void EmitToLttng(const countrace_value* values) noexcept {
    site.lttng->emit(&site, Tag::kind(), values);
  }
  static std::uint8_t Listeners() noexcept {
    return static_cast<std::uint8_t>(kScopeOn |
                                     (Recording() ? kScopeRecorded : 0) |
                                     (InLttng() ? kScopeInLttng : 0));
  }
  static void EmitExitToLttng() noexcept {
    site.lttng->emit(&site, COUNTRACE_SITE_EXIT, nullptr);
  }
};

}  // namespace countrace::detail

#define COUNTRACE_DETAIL_CAT2(a, b) a##b
#define COUNTRACE_DETAIL_CAT(a, b) COUNTRACE_DETAIL_CAT2(a, b)

// From (id, provider, name, values...) to M(unique, id, provider, name, number
// of values, (values...)). No macro is called without an argument for its
// "...", which C++17 forbids.
#define COUNTRACE_DETAIL_CALL(M, ...)                       \
  COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_CALL_,              \
                       COUNTRACE_DETAIL_COUNT(__VA_ARGS__)) \
  (M, COUNTRACE_DETAIL_UNIQUE, __VA_ARGS__)
#define COUNTRACE_DETAIL_UNIQUE \
  COUNTRACE_DETAIL_CAT(countrace_detail_, __COUNTER__)
#define COUNTRACE_DETAIL_COUNT(...) \
  COUNTRACE_DETAIL_COUNT_(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0, few, few, few)
#define COUNTRACE_DETAIL_COUNT_(id, provider, name, a, b, c, d, e, f, n, ...) n
#define COUNTRACE_DETAIL_CALL_0(M, unique, id, provider, name) \
  M(unique, id, provider, name, 0, ())
#define COUNTRACE_DETAIL_CALL_1(M, unique, id, provider, name, a) \
  M(unique, id, provider, name, 1, (a))
#define COUNTRACE_DETAIL_CALL_2(M, unique, id, provider, name, a, b) \
  M(unique, id, provider, name, 2, (a, b))
#define COUNTRACE_DETAIL_CALL_3(M, unique, id, provider, name, a, b, c) \
  M(unique, id, provider, name, 3, (a, b, c))
#define COUNTRACE_DETAIL_CALL_4(M, unique, id, provider, name, a, b, c, d) \
  M(unique, id, provider, name, 4, (a, b, c, d))
#define COUNTRACE_DETAIL_CALL_5(M, unique, id, provider, name, a, b, c, d, e) \
  M(unique, id, provider, name, 5, (a, b, c, d, e))
#define COUNTRACE_DETAIL_CALL_6(M, unique, id, provider, name, a, b, c, d, e, \
                                f)                                            \
  M(unique, id, provider, name, 6, (a, b, c, d, e, f))

// Declares type `unique##Site` of one hook site. `kind_`: COUNTRACE_SITE_* and,
// of a level, 16 * COUNTRACE_LEVEL_OF_*.
#define COUNTRACE_DETAIL_SITE(unique, kind_, id_, provider_, name_, values_) \
  struct COUNTRACE_DETAIL_CAT(unique, Tag) {                                 \
    static constexpr const char* provider() { return provider_; }            \
    static constexpr const char* name() { return name_; }                    \
    static constexpr const char* file() { return __FILE__; }                 \
    static constexpr std::uint32_t line() { return __LINE__; }               \
    static constexpr std::uint32_t hook_id() { return id_; }                 \
    static constexpr std::uint8_t kind() { return (kind_) % 16; }            \
    static constexpr std::uint8_t level() { return (kind_) / 16; }           \
  };                                                                         \
  using COUNTRACE_DETAIL_CAT(unique, Site) = ::countrace::detail::Site<      \
      COUNTRACE_DETAIL_CAT(unique, Tag),                                     \
      decltype(::countrace::detail::PayloadOf values_)>

// Emits an enter or a point hook with its payload and its USDT probe.
#define COUNTRACE_DETAIL_FIRE(S, provider_, probe_, n_, values_) \
  COUNTRACE_DETAIL_CAT(COUNTRACE_DETAIL_FIRE_, n_)               \
  (S, provider_, probe_, values_)
#define COUNTRACE_DETAIL_FIRE_0(S, provider_, probe_, values_) \
  if (S::Recording()) S::Emit();                               \
  if (S::InLttng()) S::EmitToLttng(nullptr);                   \
  COUNTRACE_DETAIL_USDT(provider_, probe_, &S::site.gate)
// The values are arguments of a call, so that temporaries among them live until
// the hook has been emitted. Inlined, so that the hook's code lies where the
// macro was written.
#define COUNTRACE_DETAIL_FIRE_N(S, provider_, probe_, USDT, parameters, ...) \
  [] parameters __attribute__((always_inline)) {                             \
    const countrace_value countrace_detail_v[] = {__VA_ARGS__};              \
    if (S::Recording()) S::EmitValues(countrace_detail_v);                   \
    if (S::InLttng()) S::EmitToLttng(countrace_detail_v);                    \
    USDT(provider_, probe_, &S::site.gate, countrace_detail_v);              \
  }
#define COUNTRACE_DETAIL_FIRE_1(S, provider_, probe_, values_)                \
  COUNTRACE_DETAIL_FIRE_N(S, provider_, probe_, COUNTRACE_DETAIL_USDT_1,      \
                          (const auto& countrace_detail_a),                   \
                          ::countrace::detail::MakeValue(countrace_detail_a)) \
  values_
#define COUNTRACE_DETAIL_FIRE_2(S, provider_, probe_, values_)          \
  COUNTRACE_DETAIL_FIRE_N(                                              \
      S, provider_, probe_, COUNTRACE_DETAIL_USDT_2,                    \
      (const auto& countrace_detail_a, const auto& countrace_detail_b), \
      ::countrace::detail::MakeValue(countrace_detail_a),               \
      ::countrace::detail::MakeValue(countrace_detail_b))               \
  values_
#define COUNTRACE_DETAIL_FIRE_3(S, provider_, probe_, values_)         \
  COUNTRACE_DETAIL_FIRE_N(                                             \
      S, provider_, probe_, COUNTRACE_DETAIL_USDT_3,                   \
      (const auto& countrace_detail_a, const auto& countrace_detail_b, \
       const auto& countrace_detail_c),                                \
      ::countrace::detail::MakeValue(countrace_detail_a),              \
      ::countrace::detail::MakeValue(countrace_detail_b),              \
      ::countrace::detail::MakeValue(countrace_detail_c))              \
  values_
#define COUNTRACE_DETAIL_FIRE_4(S, provider_, probe_, values_)          \
  COUNTRACE_DETAIL_FIRE_N(                                              \
      S, provider_, probe_, COUNTRACE_DETAIL_USDT_4,                    \
      (const auto& countrace_detail_a, const auto& countrace_detail_b,  \
       const auto& countrace_detail_c, const auto& countrace_detail_d), \
      ::countrace::detail::MakeValue(countrace_detail_a),               \
      ::countrace::detail::MakeValue(countrace_detail_b),               \
      ::countrace::detail::MakeValue(countrace_detail_c),               \
      ::countrace::detail::MakeValue(countrace_detail_d))               \
  values_
#define COUNTRACE_DETAIL_FIRE_5(S, provider_, probe_, values_)         \
  COUNTRACE_DETAIL_FIRE_N(                                             \
      S, provider_, probe_, COUNTRACE_DETAIL_USDT_5,                   \
      (const auto& countrace_detail_a, const auto& countrace_detail_b, \
       const auto& countrace_detail_c, const auto& countrace_detail_d, \
       const auto& countrace_detail_e),                                \
      ::countrace::detail::MakeValue(countrace_detail_a),              \
      ::countrace::detail::MakeValue(countrace_detail_b),              \
      ::countrace::detail::MakeValue(countrace_detail_c),              \
      ::countrace::detail::MakeValue(countrace_detail_d),              \
      ::countrace::detail::MakeValue(countrace_detail_e))              \
  values_
#define COUNTRACE_DETAIL_FIRE_6(S, provider_, probe_, values_)          \
  COUNTRACE_DETAIL_FIRE_N(                                              \
      S, provider_, probe_, COUNTRACE_DETAIL_USDT_6,                    \
      (const auto& countrace_detail_a, const auto& countrace_detail_b,  \
       const auto& countrace_detail_c, const auto& countrace_detail_d,  \
       const auto& countrace_detail_e, const auto& countrace_detail_f), \
      ::countrace::detail::MakeValue(countrace_detail_a),               \
      ::countrace::detail::MakeValue(countrace_detail_b),               \
      ::countrace::detail::MakeValue(countrace_detail_c),               \
      ::countrace::detail::MakeValue(countrace_detail_d),               \
      ::countrace::detail::MakeValue(countrace_detail_e),               \
      ::countrace::detail::MakeValue(countrace_detail_f))               \
  values_

#define COUNTRACE_DETAIL_POINT(unique, kind_, id_, provider_, name_, n_,   \
                               values_)                                    \
  do {                                                                     \
    COUNTRACE_DETAIL_SITE(unique, kind_, id_, provider_, name_, values_);  \
    COUNTRACE_DETAIL_LIST_SITE(&COUNTRACE_DETAIL_CAT(unique, Site)::site); \
    if (COUNTRACE_DETAIL_CAT(unique, Site)::On()) {                        \
      COUNTRACE_DETAIL_FIRE(COUNTRACE_DETAIL_CAT(unique, Site), provider_, \
                            name_, n_, values_);                           \
    }                                                                      \
  } while (0)
#define COUNTRACE_DETAIL_HOOK(unique, id_, provider_, name_, n_, values_)     \
  COUNTRACE_DETAIL_POINT(unique, COUNTRACE_SITE_POINT, id_, provider_, name_, \
                         n_, values_)
#define COUNTRACE_DETAIL_LEVEL(unique, scope_, provider_, name_, on_)     \
  COUNTRACE_DETAIL_POINT(unique, COUNTRACE_SITE_POINT + 16 * (scope_), 0, \
                         provider_, name_, 1, (static_cast<bool>(on_)))

#define COUNTRACE_DETAIL_ENTER(unique, id_, provider_, name_, n_, values_) \
  do {                                                                     \
    COUNTRACE_DETAIL_SITE(unique, COUNTRACE_SITE_SEGMENT, id_, provider_,  \
                          name_, values_);                                 \
    COUNTRACE_DETAIL_LIST_SITE(&COUNTRACE_DETAIL_CAT(unique, Site)::site); \
    if (COUNTRACE_DETAIL_CAT(unique, Site)::On()) {                        \
      COUNTRACE_DETAIL_FIRE(COUNTRACE_DETAIL_CAT(unique, Site), provider_, \
                            name_ "__enter", n_, values_);                 \
    }                                                                      \
  } while (0)

#define COUNTRACE_DETAIL_EXIT(unique, id_, provider_, name_, n_, values_)     \
  do {                                                                        \
    COUNTRACE_DETAIL_SITE(unique, COUNTRACE_SITE_EXIT, id_, provider_, name_, \
                          values_);                                           \
    COUNTRACE_DETAIL_LIST_SITE(&COUNTRACE_DETAIL_CAT(unique, Site)::site);    \
    if (COUNTRACE_DETAIL_CAT(unique, Site)::On()) {                           \
      COUNTRACE_DETAIL_FIRE_0(COUNTRACE_DETAIL_CAT(unique, Site), provider_,  \
                              name_ "__exit", values_);                       \
    }                                                                         \
  } while (0)

#define COUNTRACE_DETAIL_SEGMENT(unique, id_, provider_, name_, n_, values_)   \
  COUNTRACE_DETAIL_SITE(unique, COUNTRACE_SITE_SEGMENT, id_, provider_, name_, \
                        values_);                                              \
  char COUNTRACE_DETAIL_CAT(unique, place);                                    \
  struct COUNTRACE_DETAIL_CAT(unique, Guard) {                                 \
    std::uint8_t state;                                                        \
    void* frame;                                                               \
    ~COUNTRACE_DETAIL_CAT(unique, Guard)() {                                   \
      if (__builtin_expect(state != ::countrace::detail::kScopeOff, 0)) {      \
        if ((state & ::countrace::detail::kScopeRecorded) != 0) {              \
          if (frame != nullptr) countrace_runtime_scope(frame, 1);             \
          COUNTRACE_DETAIL_CAT(unique, Site)::EmitExit();                      \
        }                                                                      \
        if ((state & ::countrace::detail::kScopeInLttng) != 0) {               \
          COUNTRACE_DETAIL_CAT(unique, Site)::EmitExitToLttng();               \
        }                                                                      \
        COUNTRACE_DETAIL_USDT(provider_, name_ "__exit",                       \
                              &COUNTRACE_DETAIL_CAT(unique, Site)::site.gate); \
      }                                                                        \
    }                                                                          \
  } COUNTRACE_DETAIL_CAT(unique, guard){::countrace::detail::kScopeOff,        \
                                        nullptr};                              \
  COUNTRACE_DETAIL_LIST_SITE(&COUNTRACE_DETAIL_CAT(unique, Site)::site);       \
  if (COUNTRACE_DETAIL_CAT(unique, Site)::On()) {                              \
    COUNTRACE_DETAIL_CAT(unique, guard).state =                                \
        COUNTRACE_DETAIL_CAT(unique, Site)::Listeners();                       \
    COUNTRACE_DETAIL_FIRE(COUNTRACE_DETAIL_CAT(unique, Site), provider_,       \
                          name_ "__enter", n_, values_);                       \
    COUNTRACE_DETAIL_CAT(unique, guard).frame =                                \
        ::countrace::detail::EnterFrame(                                       \
            &COUNTRACE_DETAIL_CAT(unique, place),                              \
            COUNTRACE_DETAIL_CAT(unique, guard).state);                        \
  }                                                                            \
  static_assert(true)

#define COUNTRACE_SEGMENT(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_SEGMENT, 0, __VA_ARGS__)
#define COUNTRACE_SEGMENT_ID(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_SEGMENT, __VA_ARGS__)
#define COUNTRACE_HOOK(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_HOOK, 0, __VA_ARGS__)
#define COUNTRACE_HOOK_ID(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_HOOK, __VA_ARGS__)
#define COUNTRACE_ENTER(...) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_ENTER, 0, __VA_ARGS__)
#define COUNTRACE_EXIT(provider, name) \
  COUNTRACE_DETAIL_CALL(COUNTRACE_DETAIL_EXIT, 0, provider, name)
#define COUNTRACE_LEVEL(provider, name, on)                                  \
  COUNTRACE_DETAIL_LEVEL(COUNTRACE_DETAIL_UNIQUE, COUNTRACE_LEVEL_OF_THREAD, \
                         provider, name, on)
#define COUNTRACE_PROCESS_LEVEL(provider, name, on)                           \
  COUNTRACE_DETAIL_LEVEL(COUNTRACE_DETAIL_UNIQUE, COUNTRACE_LEVEL_OF_PROCESS, \
                         provider, name, on)
#define COUNTRACE_MACHINE_LEVEL(provider, name, on)                           \
  COUNTRACE_DETAIL_LEVEL(COUNTRACE_DETAIL_UNIQUE, COUNTRACE_LEVEL_OF_MACHINE, \
                         provider, name, on)

#endif  // C++17

#endif  // COUNTRACE_HOOKS_CXX_H_
