#include "cli/program/out_of_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>

#include "cli/program/exit_status.h"
#include "cli/program/verb.h"

namespace countrace::cli {
namespace {

constexpr std::size_t kReserveBytes = 8 << 20;

// Written once at the start: nothing may be allocated later.
std::array<char, 512> g_message;
std::atomic<void*> g_reserve = nullptr;

void Write(const char* text) {
  // Where stderr is closed, there is no one to be reached.
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void OnFailedAllocation() {
  if (void* const reserve = g_reserve.exchange(nullptr)) {
    munmap(reserve, kReserveBytes);
    Write(
        "countrace record: memory is short: the recording goes on with its "
        "reserve of 8 MiB; raise the limit (ulimit -v, memory.max of the "
        "control group) or record less at a time\n");
    return;  // operator new tries again
  }
  Write(g_message.data());
  // Neither destructors nor buffers: both may allocate.
  _exit(kExitFailed);
}

}  // namespace

void ExitWhenMemoryRunsOut(std::string_view name) {
  const Verb* const verb = FindVerb(name);
  const bool records = verb == &kRecordVerb;
  if (verb != nullptr) name = verb->name;
  std::snprintf(
      g_message.data(), g_message.size(),
      "countrace%s%.*s: memory ran out: free some, or raise the limit "
      "(ulimit -v, memory.max of the control group)%s\n",
      verb != nullptr ? " " : "",
      verb != nullptr ? static_cast<int>(name.size()) : 0, name.data(),
      records ? "; the trace is unfinished: `countrace recover` "
                "finishes it, and the command goes on unrecorded"
              : "");
  if (records) {
    void* const reserve =
        mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (reserve != MAP_FAILED) g_reserve = reserve;
  }
  std::set_new_handler(OnFailedAllocation);
}

}  // namespace countrace::cli
