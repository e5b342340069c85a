// Entry points of the runtime library: its constructor joins the recording that
// COUNTRACE_SESSION names, objects with hooks announce themselves, forked
// children shed what is their parent's.
#include <pthread.h>

#include "countrace/hook_site.h"
#include "runtime/inprocess/hook_sites.h"
#include "runtime/inprocess/preparer.h"
#include "runtime/inprocess/process_state.h"
#include "runtime/inprocess/thread_counters.h"
#include "runtime/inprocess/thread_end.h"
#include "runtime/inprocess/trace_clock.h"

namespace countrace::runtime {

namespace {

// An object may announce itself before our own constructor ran (a library that
// the runtime is linked into): whoever comes first joins.
bool Join() noexcept {
  static bool tried = false;
  if (tried) return g_process != nullptr;
  tried = true;
  if (!JoinSession()) return false;
  StartClock(g_session->raw_ns_mult);
  CreateThreadEndKey();
  pthread_atfork(nullptr, nullptr, &CloseInheritedCounters);
  return true;
}

__attribute__((constructor(101))) void OnLoad() { Join(); }

}  // namespace
}  // namespace countrace::runtime

extern "C" __attribute__((visibility("default"))) void countrace_runtime_attach(
    struct countrace_hook_site* const* start,
    struct countrace_hook_site* const* stop, uint32_t abi) {
  using namespace countrace::runtime;  // NOLINT: C entry point
  if (abi != COUNTRACE_ABI_VERSION || start == stop || !Join()) return;
  {
    SignalBlock block;
    EnsureProcessInitialised();
  }
  RegisterSites(start, stop);
  StartPreparer();
}

extern "C" __attribute__((visibility("default"))) void countrace_runtime_detach(
    struct countrace_hook_site* const* start,
    struct countrace_hook_site* const* stop) {
  using namespace countrace::runtime;  // NOLINT: C entry point
  if (g_process != nullptr) ForgetSites(start, stop);
}
