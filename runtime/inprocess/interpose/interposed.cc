// Stands before those functions of the C library that change what the process
// may do from then on. Arguments, results and errno are the C library's.
//
//   prctl, seccomp(2)      a seccomp filter: confinement.h
//   unshare, setns         refused to a process with threads: the preparer ends
//                          before, and starts again
//   clone, clone(2)        a task that shares our thread-local storage:
//                          guarded_hooks.h
//   syscall                one of these by its number, or of
//                          interposed_access.cc, or pivot_root(2) and
//                          landlock_restrict_self(2)
//   all that change what files the process reaches: less_access.h
//
// A program that makes them by an instruction of its own is not seen.
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdint>

#include "runtime/inprocess/interpose/confinement.h"
#include "runtime/inprocess/interpose/interposed.h"
#include "runtime/inprocess/interpose/less_access.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/ring/thread_ring.h"
#include "runtime/inprocess/session/preparer.h"
#include "runtime/inprocess/sites/guarded_hooks.h"
#include "runtime/inprocess/sites/hook_sites.h"

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446  // the same on every architecture
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace countrace::runtime {

namespace {

void* g_prctl;
void* g_unshare;
void* g_setns;
void* g_clone;

using AnyCall = long (*)(long, long, long, long, long, long, long);

template <typename Call>
long UnderFilter(Filter filter, Call call) noexcept {
  const ConfinementChange change = Confine(filter);
  const long result = call();
  if (result != 0) UndoConfinement(change);
  return result;
}

template <typename Call>
long WithoutPreparer(Call call) noexcept {
  const bool ended = g_process != nullptr && MayCall() && EndPreparer();
  const long result = call();
  if (ended) {
    const int saved_errno = errno;
    StartPreparer();
    errno = saved_errno;
  }
  return result;
}

bool SharesStorage(std::uint64_t flags) noexcept {
  return (flags & CLONE_VM) != 0 && (flags & (CLONE_SETTLS | CLONE_VFORK)) == 0;
}

// Before a clone, in the thread that clones.
void NoteClone(std::uint64_t flags) noexcept {
  if (!SharesStorage(flags) || g_process == nullptr || !MayCall()) return;
  const SignalBlock block;
  EnsureProcessInitialised();
  // The ring has the thread's id before the task could open one.
  if (SessionIsRecording()) OpenStreamNow();
  if (HooksAreGuarded()) return GuardSharedStorage();
  GuardSharedStorage();
  ChooseSinksAgain();
}

// The end of access(2) to the trace, perhaps.
bool ChangesFiles(unsigned long flags) noexcept {
  return (flags & (CLONE_NEWNS | CLONE_NEWUSER)) != 0;
}

bool NeedsOneThread(unsigned long flags) noexcept {
  return (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) !=
         0;
}

}  // namespace
}  // namespace countrace::runtime

using countrace::runtime::AnyCall;
using countrace::runtime::ChangesFiles;
using countrace::runtime::Filter;
using countrace::runtime::Find;
using countrace::runtime::KeepStreamsGrowing;
using countrace::runtime::NeedsOneThread;
using countrace::runtime::NoteClone;
using countrace::runtime::UnderFilter;
using countrace::runtime::WithoutPreparer;

extern "C" {

int CountracePrctl(int option, unsigned long a, unsigned long b,
                   unsigned long c, unsigned long d) COUNTRACE_EXPORT(prctl);
int CountraceUnshare(int flags) COUNTRACE_EXPORT(unshare);
int CountraceSetns(int fd, int type) COUNTRACE_EXPORT(setns);
int CountraceClone(void* function, void* stack, int flags, void* argument,
                   void* parent_tid, void* tls, void* child_tid)
    COUNTRACE_EXPORT(clone);

// The C library's syscall().
__attribute__((visibility("hidden"), used)) void* countrace_real_syscall;

// Not variadic here: what the caller did not pass is not looked at.
int CountracePrctl(int option, unsigned long a, unsigned long b,
                   unsigned long c, unsigned long d) {
  const auto real = reinterpret_cast<decltype(&CountracePrctl)>(
      Find(&countrace::runtime::g_prctl, "prctl"));
  const bool sets =
      option == PR_SET_SECCOMP &&
      (a == SECCOMP_MODE_STRICT || (a == SECCOMP_MODE_FILTER && b != 0));
  if (!sets) return real(option, a, b, c, d);
  return static_cast<int>(UnderFilter(
      a == SECCOMP_MODE_STRICT ? Filter::kStrict : Filter::kThisThread,
      [&] { return long{real(option, a, b, c, d)}; }));
}

int CountraceUnshare(int flags) {
  const auto real = reinterpret_cast<decltype(&CountraceUnshare)>(
      Find(&countrace::runtime::g_unshare, "unshare"));
  if (ChangesFiles(static_cast<unsigned>(flags))) KeepStreamsGrowing();
  if (!NeedsOneThread(static_cast<unsigned>(flags))) return real(flags);
  return static_cast<int>(WithoutPreparer([&] { return long{real(flags)}; }));
}

int CountraceSetns(int fd, int type) {
  const auto real = reinterpret_cast<decltype(&CountraceSetns)>(
      Find(&countrace::runtime::g_setns, "setns"));
  KeepStreamsGrowing();
  return static_cast<int>(
      WithoutPreparer([&] { return long{real(fd, type)}; }));
}

int CountraceClone(void* function, void* stack, int flags, void* argument,
                   void* parent_tid, void* tls, void* child_tid) {
  const auto real = reinterpret_cast<decltype(&CountraceClone)>(
      Find(&countrace::runtime::g_clone, "clone"));
  NoteClone(static_cast<unsigned>(flags));
  return real(function, stack, flags, argument, parent_tid, tls, child_tid);
}

__attribute__((visibility("hidden"), used)) void countrace_find_syscall() {
  Find(&countrace_real_syscall, "syscall");
}

// Calls that are not made through a jump: something follows them.
__attribute__((visibility("hidden"), used)) long countrace_changing_syscall(
    long number, long a, long b, long c, long d, long e, long f) {
  countrace_find_syscall();
  const auto real = reinterpret_cast<AnyCall>(countrace_real_syscall);
  const auto call = [&] { return real(number, a, b, c, d, e, f); };
  switch (number) {
    case SYS_prctl:
      if (a != PR_SET_SECCOMP) break;
      return UnderFilter(
          b == SECCOMP_MODE_STRICT ? Filter::kStrict : Filter::kThisThread,
          call);
    case SYS_seccomp:
      // Without a filter it only tests the flags.
      if (a == SECCOMP_SET_MODE_STRICT) {
        return UnderFilter(Filter::kStrict, call);
      }
      if (a != SECCOMP_SET_MODE_FILTER || c == 0) break;
      return UnderFilter((b & SECCOMP_FILTER_FLAG_TSYNC) != 0
                             ? Filter::kEveryThread
                             : Filter::kThisThread,
                         call);
    case SYS_unshare:
      if (ChangesFiles(static_cast<unsigned long>(a))) KeepStreamsGrowing();
      if (!NeedsOneThread(static_cast<unsigned long>(a))) break;
      return WithoutPreparer(call);
    case SYS_setns:
      KeepStreamsGrowing();
      return WithoutPreparer(call);
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setgroups:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_capset:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_landlock_restrict_self:
      KeepStreamsGrowing();
      break;
    case SYS_close_range: {
      const countrace::runtime::RangeClosing closing;
      return call();
    }
    default:
      break;
  }
  return call();
}

__attribute__((visibility("hidden"), used)) void countrace_cloning_syscall(
    long number, const std::uint64_t* argument) {
  // clone3: the flags are the first word of its structure.
  NoteClone(number == SYS_clone   ? reinterpret_cast<std::uint64_t>(argument)
            : argument != nullptr ? *argument
                                  : 0);
}

__attribute__((constructor(101))) static void FindAll() {
  countrace_find_syscall();
  Find(&countrace::runtime::g_prctl, "prctl");
  Find(&countrace::runtime::g_unshare, "unshare");
  Find(&countrace::runtime::g_setns, "setns");
  Find(&countrace::runtime::g_clone, "clone");
}

#if !defined(__x86_64__)
long CountraceSyscall(long number, long a, long b, long c, long d, long e,
                      long f) COUNTRACE_EXPORT(syscall);

// Seven arguments are in registers: the compiler makes a jump of the last call.
long CountraceSyscall(long number, long a, long b, long c, long d, long e,
                      long f) {
  switch (number) {
    case SYS_prctl:
    case SYS_seccomp:
    case SYS_unshare:
    case SYS_setns:
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setgroups:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_capset:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_landlock_restrict_self:
    case SYS_close_range:
      return countrace_changing_syscall(number, a, b, c, d, e, f);
    case SYS_clone:
    case SYS_clone3:
      countrace_cloning_syscall(number,
                                reinterpret_cast<const std::uint64_t*>(a));
      break;
    default:
      break;
  }
  if (__builtin_expect(countrace_real_syscall == nullptr, 0)) {
    countrace_find_syscall();
  }
  return reinterpret_cast<AnyCall>(countrace_real_syscall)(number, a, b, c, d,
                                                           e, f);
}
#endif

}  // extern "C"

#if defined(__x86_64__)
static_assert(SYS_prctl == 157 && SYS_seccomp == 317 && SYS_unshare == 272 &&
              SYS_setns == 308 && SYS_clone == 56 && SYS_clone3 == 435 &&
              SYS_landlock_restrict_self == 446 && SYS_close_range == 436);
// From SYS_setuid to SYS_chroot lie all that change credentials or the root,
// and prctl.
static_assert(SYS_setuid == 105 && SYS_chroot == 161 && SYS_capset == 126 &&
              SYS_pivot_root == 155);
// A jump, so that the C library's function finds registers and stack as its
// caller left them: the seventh argument is on the stack, and a cloned task
// returns from there.
// clang-format off
__asm__(
    ".pushsection .text\n"
    ".globl syscall\n"
    ".type syscall, @function\n"
    "syscall:\n"
    ".cfi_startproc\n"
    "  endbr64\n"
    "  leal -105(%rdi), %eax\n"
    "  cmpl $56, %eax\n"
    "  jbe countrace_changing_syscall\n"
    "  cmpl $446, %edi\n"
    "  je countrace_changing_syscall\n"
    "  cmpl $436, %edi\n"
    "  je countrace_changing_syscall\n"
    "  cmpl $317, %edi\n"
    "  je countrace_changing_syscall\n"
    "  cmpl $272, %edi\n"
    "  je countrace_changing_syscall\n"
    "  cmpl $308, %edi\n"
    "  je countrace_changing_syscall\n"
    "  cmpl $56, %edi\n"
    "  je 1f\n"
    "  cmpl $435, %edi\n"
    "  je 1f\n"
    "  movq countrace_real_syscall(%rip), %rax\n"
    "  testq %rax, %rax\n"
    "  je 1f\n"
    "  jmp *%rax\n"
    "1:\n"
    "  pushq %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rdx\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rcx\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %r8\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %r9\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  subq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  cmpl $56, %edi\n"
    "  je 2f\n"
    "  cmpl $435, %edi\n"
    "  jne 3f\n"
    "2:\n"
    "  call countrace_cloning_syscall\n"
    "3:\n"
    "  call countrace_find_syscall\n"
    "  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %r9\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %r8\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rcx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rdx\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  movq countrace_real_syscall(%rip), %rax\n"
    "  jmp *%rax\n"
    ".cfi_endproc\n"
    ".size syscall, .-syscall\n"
    ".popsection\n");
// clang-format on
#endif
