// Stands before the C library's longjmp and its relatives: one record for each
// jump, so that the reconstruction ends the calls that the jump left. Hooks do
// not pass through here.
//
//   setjmp, _setjmp, __sigsetjmp     note when the target was saved; x86-64
//   longjmp, _longjmp, siglongjmp, __longjmp_chk     record: that time
//   setcontext, swapcontext          record: time not known
//
// In a process without hooks each of them costs a load and a branch more.
#include <dlfcn.h>
#include <stdlib.h>

#include "countrace/hook_site.h"
#include "logformat/jump_hook.h"
#include "runtime/inprocess/hook_sites.h"
#include "runtime/inprocess/jump_targets.h"
#include "runtime/inprocess/process_state.h"
#include "runtime/inprocess/system_calls.h"
#include "runtime/inprocess/thread_ring.h"

namespace countrace::runtime {

namespace {

countrace_hook_site g_jump_site = {.lttng_bytes = 0,
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
                                   .count = 1,
                                   .types = {COUNTRACE_TYPE_UNSIGNED},
                                   .provider = logformat::kJumpProvider,
                                   .name = logformat::kJumpName,
                                   .file = "runtime/inprocess/jumps.cc"};
countrace_hook_site* const kSites[] = {&g_jump_site};
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

// Only a program that jumps has the hook in its trace.
void RegisterOnce() noexcept {
  // Relaxed: the gate publishes what it guards. No hooks: nothing to end.
  if (__atomic_load_n(&g_registered, __ATOMIC_RELAXED) != 0 ||
      g_process == nullptr || !MayCall()) {
    return;
  }
  RegisterOwnSite(kSites);
  __atomic_store_n(&g_registered, 1, __ATOMIC_RELAXED);
}

void NoteJump(std::uint64_t saved_ns) noexcept {
  RegisterOnce();
  // Pairs with the release store in hook_sites.cc: the sink is there.
  if (__atomic_load_n(&g_jump_site.gate.part.enabled, __ATOMIC_ACQUIRE) == 0 ||
      t_state.ring->live == 0) {
    return;  // not recorded, or nothing is open: no record of this thread
  }
  countrace_value value{};
  value.as.u = saved_ns;
  g_jump_site.sink->emit_payload(&g_jump_site, g_jump_site.event_id, &value, 1);
}

[[noreturn]] void Jump(Real function, void* buffer, int value) noexcept {
  NoteJump(JumpTargetSaved(buffer));
  reinterpret_cast<void (*)(void*, int)>(Find(function))(buffer, value);
  abort();
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
int CountraceSwapcontext(void* from, const void* to)
    COUNTRACE_EXPORT(swapcontext);

using countrace::runtime::Find;
using countrace::runtime::Jump;
using countrace::runtime::NoteJump;
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
  NoteJump(0);
  return reinterpret_cast<int (*)(const void*)>(Find(Real::kSetcontext))(to);
}
int CountraceSwapcontext(void* from, const void* to) {
  NoteJump(0);
  return reinterpret_cast<int (*)(void*, const void*)>(
      Find(Real::kSwapcontext))(from, to);
}

#if defined(__x86_64__)
// Notes the target and returns the C library's function.
__attribute__((visibility("hidden"), used)) void* countrace_note_setjmp(
    const void* buffer, std::uint64_t stack_pointer,
    std::uint64_t return_address, unsigned function) {
  countrace::runtime::RegisterOnce();
  countrace::runtime::NoteJumpTarget({buffer, stack_pointer, return_address});
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
