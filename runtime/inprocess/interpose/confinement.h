// What happens to the recording when a thread is about to get a seccomp filter
// (system_calls.h). interposed.cc sees it before it is set.
//
// Not async-signal-safe. Thread: the one that sets the filter.
#ifndef COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_CONFINEMENT_H_
#define COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_CONFINEMENT_H_

#include "runtime/inprocess/process/system_calls.h"

namespace countrace::runtime {

// What a filter changes, to be undone if the kernel refuses it.
struct ConfinementChange {
  Confinement before;
  ThreadPlace place;
  bool preparer_ended;
};

enum class Filter { kThisThread, kEveryThread, kStrict };

// Opens the calling thread's stream and makes sub-buffers ready; in strict mode
// ends the stream. Keeps errno.
ConfinementChange Confine(Filter filter) noexcept;
// The kernel refused the filter.
void UndoConfinement(const ConfinementChange& change) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_INTERPOSE_CONFINEMENT_H_
