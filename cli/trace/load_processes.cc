#include "cli/trace/load_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <thread>

#include "absl/strings/str_format.h"
#include "base/jail/inner_program.h"
#include "cli/program/exit_status.h"

namespace countrace::cli {
namespace {

constexpr base::InnerProgram kProgram = {
    .name = "countrace-load",
    .variable = "COUNTRACE_LOAD",
    .build_folder = "rmap",
    .without = "so no database server can be used"};
constexpr char kSilentSeconds[] = "300";

}  // namespace

int RunLoaders(std::string_view verb,
               const std::vector<std::vector<std::string>>& jobs) {
  const auto program = base::FindInnerProgram(kProgram);
  if (!program.ok()) return ReportFailure(verb, program.status());
  const std::size_t most = std::max(1u, std::thread::hardware_concurrency());
  std::set<pid_t> running;
  int exit = kExitOk;
  for (std::size_t next = 0; next < jobs.size() || !running.empty();) {
    if (next < jobs.size() && running.size() < most) {
      base::InnerStart start{.words = {*program, std::string(verb)}};
      start.words.insert(start.words.end(), jobs[next].begin(),
                         jobs[next].end());
      start.socket = start.errors = STDERR_FILENO;
      const auto child = base::StartInner(start);
      if (!child.ok()) return ReportFailure(verb, child.status());
      running.insert(*child);
      ++next;
      continue;
    }
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) break;
    if (running.erase(ended) == 0 || status == 0) continue;
    if (WIFEXITED(status)) {
      exit = WEXITSTATUS(status);
    } else {
      exit = WTERMSIG(status) == SIGINT ? kExitInterrupted : kExitFailed;
      Say(verb, absl::StrFormat("%s died, signal=%d: the same command goes on "
                                "where it ended",
                                kProgram.name, WTERMSIG(status)));
    }
  }
  return exit;
}

int FetchReportTables(std::string_view verb, const std::string& address,
                      const std::string& password_file,
                      const std::string& file) {
  return RunLoaders(verb,
                    {{address, password_file, kSilentSeconds, "fetch", file}});
}

}  // namespace countrace::cli
