// Entry points of the runtime library. Objects with hooks announce themselves
// here. The first one makes the process ready to be recorded, joins the
// recording in COUNTRACE_SESSION, and starts the control thread. A forked child
// releases what it inherited of its parent's state.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/posix/kernel_clock.h"
#include "countrace/hook_site.h"
#include "logformat/discard_errors.h"
#include "runtime/inprocess/counters/thread_counters.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/start_values.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/ring/thread_end.h"
#include "runtime/inprocess/ring/thread_ring.h"
#include "runtime/inprocess/session/control_page.h"
#include "runtime/inprocess/session/preparer.h"
#include "runtime/inprocess/session/session_membership.h"
#include "runtime/inprocess/session/unjoined_report.h"
#include "runtime/inprocess/sites/hook_sites.h"

// glibc's pthread_atfork() is a static function that calls this one; in musl,
// pthread_atfork() is in the library. Each is missing in the other, whose
// programs start all the same.
extern "C" {
int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                      void* object) __attribute__((weak));
extern void* __dso_handle __attribute__((visibility("hidden")));
__typeof__(pthread_atfork) pthread_atfork __attribute__((weak));
}

namespace countrace::runtime {

namespace {

bool g_forks_controlled = false;

void CallAfterFork(void (*in_child)()) noexcept {
  if (__register_atfork != nullptr) {
    __register_atfork(nullptr, nullptr, in_child, __dso_handle);
  } else if (pthread_atfork != nullptr) {
    pthread_atfork(nullptr, nullptr, in_child);
  }
}

void AfterForkInChild() noexcept {
  if (!MayCall()) return;
  CloseInheritedCounters();
  if (!g_forks_controlled) {
    // It may have threads before its first hook.
    if (SessionIsRecording()) GrowTable();
    return;
  }
  {
    SignalBlock block;
    EnsureProcessInitialised();
  }
  WatchMainThread();
  StartPreparer();
}

bool Prepare() noexcept {
  static bool tried = false;
  if (tried) return g_process != nullptr;
  tried = true;
  if (!PrepareProcess()) return false;
  base::FindKernelClock();
  CreateThreadEndKey(&ReleaseRing);
  g_forks_controlled = ForksAreControlled();
  FindStoredTid();
  CallAfterFork(&AfterForkInChild);
  const char* path = HasRaisedRights()
                         ? nullptr
                         : EnvironmentValue(logformat::kSessionEnvironment);
  if (path != nullptr) {
    const int saved_errno = errno;
    int error = 0;
    // A failure means that the recording has ended; the process may join
    // others.
    if (JoinSession(path, &error) == ControlStatus::kCannotOpen) {
      ReportUnjoined(path, error);
    }
    errno = saved_errno;
  }
  return true;
}

// Hooks that stay off, of which no record can be counted: as one.
void CountObject(int error) noexcept {
  if (g_process == nullptr) return;
  const SlowPathUse use;  // the session stays mapped
  if (use.is_open() && SessionIsRecording()) {
    CountSessionDiscard(logformat::DiscardCause::kNoResource, error);
  }
}

__attribute__((destructor)) void OnUnload() {
  if (MayCall()) {
    RemoveControlPage();
  } else {
    LetPreparerRemoveControlPage();
  }
}

}  // namespace
}  // namespace countrace::runtime

extern "C" __attribute__((visibility("default"))) void countrace_runtime_attach(
    struct countrace_hook_site* const* start,
    struct countrace_hook_site* const* stop, uint32_t abi) {
  using namespace countrace::runtime;  // NOLINT: C entry point
  if (start == stop) return;
  if (abi != COUNTRACE_ABI_VERSION) {
    fprintf(stderr,
            "countrace: hooks of one object stay off: it was built with hook "
            "ABI %u, libcountrace-runtime.so has %u; rebuild it with the "
            "headers of this version\n",
            abi, COUNTRACE_ABI_VERSION);
  }
  // A file of hooks that is loaded under a seccomp filter stays off.
  if (!MayCall()) return CountObject(countrace::logformat::kNoCallsAllowed);
  if (!Prepare()) return;
  {
    SignalBlock block;
    EnsureProcessInitialised();
  }
  if (abi == COUNTRACE_ABI_VERSION) {
    RegisterSites(start, stop);
  } else {
    CountObject(countrace::logformat::kHookRefused);
  }
  StartPreparer();
}

// For the recorder's own measurement, which may have file capabilities: it
// names the folder itself, and takes none from its environment.
extern "C" __attribute__((visibility("default"))) void countrace_runtime_join(
    const char* session) {
  using namespace countrace::runtime;  // NOLINT: C entry point
  int error = 0;
  if (g_process != nullptr) JoinSession(session, &error);
}

extern "C" __attribute__((visibility("default"))) void countrace_runtime_detach(
    struct countrace_hook_site* const* start,
    struct countrace_hook_site* const* stop) {
  using namespace countrace::runtime;  // NOLINT: C entry point
  if (g_process != nullptr) ForgetSites(start, stop);
}
