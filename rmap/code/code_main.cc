// countrace-code: reads files of code for names, in a process that may die.
//
// code_process.cc starts it; it answers on its socket (code_messages.h). Before
// the first file comes it enters its jail (base/jail/process_jail.h).
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/jail/inner_program.h"
#include "base/jail/process_jail.h"
#include "rmap/code/code_messages.h"
#include "rmap/code/code_service.h"

namespace {

// What this program has itself, its libraries included.
std::uint64_t OwnBytes() {
  std::uint64_t pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

int main() {
  using countrace::base::kInnerSocketFd;
  // `countrace` shows what it has read by then.
  signal(SIGINT, SIG_IGN);
  const std::uint64_t own = OwnBytes();
  const auto missing = countrace::base::EnterJail(
      {.readable = {}, .file_bytes = 0, .sets_memory_limit = true});
  if (!countrace::base::SendMessage(kInnerSocketFd,
                                    countrace::base::MessageOf(missing))) {
    return 1;
  }
  countrace::rmap::CodeService service(
      kInnerSocketFd, [own](std::uint64_t files) {
#ifdef COUNTRACE_ANY_MEMORY
        return;
#endif
        rlimit limit{};
        if (getrlimit(RLIMIT_AS, &limit) != 0) return;
        limit.rlim_cur = std::min<rlim_t>(
            own + countrace::rmap::kCodeMemoryBytes + files, limit.rlim_max);
        setrlimit(RLIMIT_AS, &limit);
      });
  service.Run();
  _exit(0);
}
