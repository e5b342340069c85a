// Hooks that ask first whether their caller may write a record. From the first
// cause on all hooks of the process do; before, none does.
//
// - Strict seccomp mode: the thread may not even read the raw counter. Its
//   records are discarded and counted.
// - A task with the thread-local storage of the thread that cloned it (clone
//   with CLONE_VM, without CLONE_SETTLS and CLONE_VFORK): in one ring the two
//   would overwrite each other's records. Each hook reads its caller's id
//   (some 100 ns more): the task's records are discarded and counted, the
//   thread's are kept.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SITES_GUARDED_HOOKS_H_
#define COUNTRACE_RUNTIME_INPROCESS_SITES_GUARDED_HOOKS_H_

namespace countrace::runtime {

// The causes. ChooseSinksAgain() must follow.
void GuardStrictThread() noexcept;
void GuardSharedStorage() noexcept;

bool HooksAreGuarded() noexcept;

// Whether the caller of a guarded hook may not write; counts the record. Makes
// no other use of the caller's ThreadState.
bool DiscardsRecord() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SITES_GUARDED_HOOKS_H_
