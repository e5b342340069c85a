// Stands before the C library's longjmp and its relatives: one record for each
// jump, so that the reconstruction ends the calls that the jump left, or keeps
// those of another stack. Hooks do not pass through here.
//
//   setjmp, _setjmp, __sigsetjmp     note when the target was saved, and on
//                                    which stack; x86-64
//   longjmp, _longjmp, siglongjmp, __longjmp_chk
//                                    record: that stack, if it is another; that
//                                    time
//   setcontext, swapcontext          to a context of makecontext: record: a new
//                                    stack. To one of swapcontext: it has a
//                                    record when it goes on. To others (and
//                                    where not x86-64): not known
//
// A stack has a number from makecontext's first instruction on, which it keeps
// in the frames of its own swapcontext calls: the numbers need no table, and
// memory that is used for another stack later has another number.
//
// In a process without hooks each of them costs a load and a branch more.
//
// countrace_runtime_scope, from hooks in coroutines, has a record for the same
// purpose: calls that do not nest.
#include <dlfcn.h>
#include <stdlib.h>
#include <ucontext.h>

#include "countrace/hook_site.h"
#include "logformat/jump_hook.h"
#include "runtime/inprocess/interpose/jump_targets.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/ring/thread_ring.h"
#include "runtime/inprocess/sites/hook_sites.h"

namespace countrace::runtime {

namespace {

constexpr countrace_hook_site OwnSite(const char* name, std::uint8_t values) {
  return {.lttng_bytes = 0,
          .event_id = 0,
          .lttng_provider = nullptr,
          .lttng_event = nullptr,
          .gate = {0},
          .lttng_probes = nullptr,
          .lttng_reference = nullptr,
          .lttng_signature = nullptr,
          .sink = nullptr,
          .lttng = nullptr,
          .bytes = sizeof(countrace_hook_site),
          .hook_id = 0,
          .line = __LINE__,
          .kind = COUNTRACE_SITE_POINT,
          .count = values,
          .types = {COUNTRACE_TYPE_UNSIGNED, COUNTRACE_TYPE_UNSIGNED},
          .provider = logformat::kJumpProvider,
          .name = name,
          .file = "runtime/inprocess/interpose/jumps.cc"};
}
constinit countrace_hook_site g_jump_site = OwnSite(logformat::kJumpName, 1);
constinit countrace_hook_site g_stack_site = OwnSite(logformat::kStackName, 2);
constinit countrace_hook_site g_scope_site = OwnSite(logformat::kScopeName, 2);
countrace_hook_site* const kSites[] = {&g_jump_site, &g_stack_site,
                                       &g_scope_site};
std::uint32_t g_registered = 0;

// The C library's functions, in the order of kNames.
enum class Real : unsigned {
  kSetjmp,
  kSetjmpWithoutMask,
  kSigsetjmp,
  kLongjmp,
  kLongjmpWithoutMask,
  kSiglongjmp,
  kLongjmpChecked,
  kSetcontext,
  kSwapcontext
};
constexpr const char* kNames[] = {"setjmp",        "_setjmp",    "__sigsetjmp",
                                  "longjmp",       "_longjmp",   "siglongjmp",
                                  "__longjmp_chk", "setcontext", "swapcontext"};
constexpr unsigned kFunctions = sizeof(kNames) / sizeof(kNames[0]);
void* g_real[kFunctions];

void* Find(Real function) noexcept {
  const auto index = static_cast<unsigned>(function);
  // Relaxed: every thread stores the same address.
  void* real = __atomic_load_n(&g_real[index], __ATOMIC_RELAXED);
  if (__builtin_expect(real != nullptr, 1)) return real;
  real = dlsym(RTLD_NEXT, kNames[index]);
  __atomic_store_n(&g_real[index], real, __ATOMIC_RELAXED);
  return real;
}

// dlsym is not async-signal-safe; a constructor that jumps earlier calls it
// itself.
__attribute__((constructor(101))) void FindAll() {
  for (unsigned i = 0; i < kFunctions; ++i) Find(static_cast<Real>(i));
}

// Only a program that jumps, or has such coroutines, has the hooks in its
// trace.
void RegisterOnce() noexcept {
  // Relaxed: the gate publishes what it guards. No hooks: nothing to end.
  if (__atomic_load_n(&g_registered, __ATOMIC_RELAXED) != 0 ||
      g_process == nullptr || !MayCall()) {
    return;
  }
  RegisterOwnSites(kSites, kSites + 3);
  __atomic_store_n(&g_registered, 1, __ATOMIC_RELAXED);
}

void Record(countrace_hook_site& site, std::uint64_t first,
            std::uint64_t second) noexcept {
  // Pairs with the release store in hook_sites.cc: the sink is there.
  if (__atomic_load_n(&site.gate.part.enabled, __ATOMIC_ACQUIRE) == 0 ||
      t_state.ring->live == 0) {
    return;  // not recorded, or nothing is open: no record of this thread
  }
  countrace_value values[2] = {};
  values[0].as.u = first;
  values[1].as.u = second;
  site.sink->emit_payload(&site, site.event_id, values, site.count);
}

void NoteJump(std::uint64_t saved_ns) noexcept {
  RegisterOnce();
  Record(g_jump_site, saved_ns, 0);
}

// The stack on which the thread runs; 0: it has no number yet.
__thread std::uint64_t t_stack
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) = 0;
std::uint64_t g_last_stack = 0;

std::uint64_t NewStack() noexcept {
  // Relaxed: only that it differs from the others counts.
  return __atomic_add_fetch(&g_last_stack, 1, __ATOMIC_RELAXED);
}
std::uint64_t CurrentStack() noexcept {
  if (t_stack == 0) t_stack = NewStack();
  return t_stack;
}

// Not inlined: a context can go on in another thread.
[[gnu::noinline]] void GoTo(std::uint64_t stack) noexcept {
  const std::uint64_t from = CurrentStack();
  if (from == stack) return;
  t_stack = stack;
  RegisterOnce();
  Record(g_stack_site, from, stack);
  NoteJump(0);
}

[[noreturn]] void Jump(Real function, void* buffer, int value) noexcept {
  const SavedTarget target = FindJumpTarget(buffer);
  if (target.saved_ns != 0) GoTo(target.stack);
  NoteJump(target.saved_ns);
  reinterpret_cast<void (*)(void*, int)>(Find(function))(buffer, value);
  abort();
}

#if defined(__x86_64__) && defined(__GLIBC__)
// The section of CountraceSwapcontext alone, from the linker.
extern "C" const char __start_countrace_swap[]
    __attribute__((visibility("hidden")));
extern "C" const char __stop_countrace_swap[]
    __attribute__((visibility("hidden")));

bool IsOfSwapcontext(const ucontext_t& context) noexcept {
  const auto at =
      static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  return at >= reinterpret_cast<std::uint64_t>(__start_countrace_swap) &&
         at < reinterpret_cast<std::uint64_t>(__stop_countrace_swap);
}

// As at the first instruction of a function, on its own stack: a context that
// was saved in a call has an even multiple of 8.
bool IsOfMakecontext(const ucontext_t& context) noexcept {
  const auto at =
      static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
  const auto low = reinterpret_cast<std::uint64_t>(context.uc_stack.ss_sp);
  return at % 16 == 8 && at >= low && at - low < context.uc_stack.ss_size;
}
#else
bool IsOfSwapcontext(const ucontext_t&) noexcept { return false; }
bool IsOfMakecontext(const ucontext_t&) noexcept { return false; }
#endif

// Before the thread goes on at `to`. Returns the stack that it leaves.
[[gnu::noinline]] std::uint64_t LeaveTo(const void* to) noexcept {
  const std::uint64_t from = CurrentStack();
  const auto& context = *static_cast<const ucontext_t*>(to);
  if (IsOfMakecontext(context)) {
    GoTo(NewStack());
  } else if (!IsOfSwapcontext(context)) {
    NoteJump(0);
  }
  return from;
}

}  // namespace
}  // namespace countrace::runtime

// Under names of our own: the C library's headers give these functions
// attributes, and replace some by macros.
#define COUNTRACE_EXPORT(name) \
  __asm__(#name) __attribute__((visibility("default"), used))

extern "C" {

[[noreturn]] void CountraceLongjmp(void* buffer, int value)
    COUNTRACE_EXPORT(longjmp);
[[noreturn]] void CountraceLongjmpWithoutMask(void* buffer, int value)
    COUNTRACE_EXPORT(_longjmp);
[[noreturn]] void CountraceSiglongjmp(void* buffer, int value)
    COUNTRACE_EXPORT(siglongjmp);
[[noreturn]] void CountraceLongjmpChecked(void* buffer, int value)
    COUNTRACE_EXPORT(__longjmp_chk);
int CountraceSetcontext(const void* to) COUNTRACE_EXPORT(setcontext);
[[gnu::section("countrace_swap")]] int CountraceSwapcontext(void* from,
                                                            const void* to)
    COUNTRACE_EXPORT(swapcontext);

using countrace::runtime::Find;
using countrace::runtime::GoTo;
using countrace::runtime::Jump;
using countrace::runtime::LeaveTo;
using countrace::runtime::Real;

void CountraceLongjmp(void* buffer, int value) {
  Jump(Real::kLongjmp, buffer, value);
}
void CountraceLongjmpWithoutMask(void* buffer, int value) {
  Jump(Real::kLongjmpWithoutMask, buffer, value);
}
void CountraceSiglongjmp(void* buffer, int value) {
  Jump(Real::kSiglongjmp, buffer, value);
}
void CountraceLongjmpChecked(void* buffer, int value) {
  Jump(Real::kLongjmpChecked, buffer, value);
}
int CountraceSetcontext(const void* to) {
  LeaveTo(to);
  return reinterpret_cast<int (*)(const void*)>(Find(Real::kSetcontext))(to);
}
int CountraceSwapcontext(void* from, const void* to) {
  const std::uint64_t stack = LeaveTo(to);
  const int result = reinterpret_cast<int (*)(void*, const void*)>(
      Find(Real::kSwapcontext))(from, to);
  // Some time later, or at once if it failed.
  GoTo(stack);
  return result;
}

__attribute__((visibility("default"), nothrow)) void countrace_runtime_scope(
    void* place, std::uint32_t exit) {
  countrace::runtime::RegisterOnce();
  countrace::runtime::Record(countrace::runtime::g_scope_site,
                             reinterpret_cast<std::uintptr_t>(place), exit);
}

#if defined(__x86_64__)
// Notes the target and returns the C library's function.
__attribute__((visibility("hidden"), used)) void* countrace_note_setjmp(
    const void* buffer, std::uint64_t stack_pointer,
    std::uint64_t return_address, unsigned function) {
  countrace::runtime::RegisterOnce();
  countrace::runtime::NoteJumpTarget({buffer, stack_pointer, return_address},
                                     countrace::runtime::CurrentStack());
  return Find(static_cast<Real>(function));
}
#endif

}  // extern "C"

#if defined(__x86_64__)
// The C library's setjmp must see its caller's frame: arguments, stack and
// return address are as on entry when it is jumped to. It is so also where the
// C library's buffer holds a shadow stack pointer.
// clang-format off
#define COUNTRACE_SETJMP(name, number)               \
  __asm__(                                           \
      ".pushsection .text\n"                         \
      ".globl " #name "\n"                           \
      ".type " #name ", @function\n"                 \
      #name ":\n"                                    \
      ".cfi_startproc\n"                             \
      "  endbr64\n"                                  \
      "  pushq %rdi\n"                               \
      "  .cfi_adjust_cfa_offset 8\n"                 \
      "  pushq %rsi\n"                               \
      "  .cfi_adjust_cfa_offset 8\n"                 \
      "  subq $8, %rsp\n"                            \
      "  .cfi_adjust_cfa_offset 8\n"                 \
      "  leaq 32(%rsp), %rsi\n"                      \
      "  movq 24(%rsp), %rdx\n"                      \
      "  movl $" #number ", %ecx\n"                  \
      "  call countrace_note_setjmp\n"               \
      "  addq $8, %rsp\n"                            \
      "  .cfi_adjust_cfa_offset -8\n"                \
      "  popq %rsi\n"                                \
      "  .cfi_adjust_cfa_offset -8\n"                \
      "  popq %rdi\n"                                \
      "  .cfi_adjust_cfa_offset -8\n"                \
      "  jmp *%rax\n"                                \
      ".cfi_endproc\n"                               \
      ".size " #name ", .-" #name "\n"               \
      ".popsection\n")
// clang-format on

COUNTRACE_SETJMP(setjmp, 0);
COUNTRACE_SETJMP(_setjmp, 1);
COUNTRACE_SETJMP(__sigsetjmp, 2);
#endif
