#include "runtime/inprocess/ring/preparer_wake.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/control_layout.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"

namespace countrace::runtime {

namespace {

std::atomic<std::uint32_t> g_wake;  // our own threads increment it

}  // namespace

void WakePreparer() noexcept {
  if (g_process->preparer_running.load(std::memory_order_relaxed) == 0) return;
  g_wake.fetch_add(1, std::memory_order_seq_cst);
  if (!MayCall()) return;  // it polls
  if (g_process->preparer_waiting.load(std::memory_order_seq_cst) != 0) {
    base::OwnCall(SYS_futex, &g_wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

void WakeIdlePreparer() noexcept {
  if (g_process == nullptr) return;
  ControlPage* page = g_process->control.load(std::memory_order_acquire);
  if (page == nullptr) return;
  page->request.fetch_xor(~kRequestNumberMask, std::memory_order_seq_cst);
  if (!MayCall()) return;
  base::OwnCall(SYS_futex, &page->request, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

std::atomic<std::uint32_t>* PreparerWakeWord() noexcept { return &g_wake; }

}  // namespace countrace::runtime
