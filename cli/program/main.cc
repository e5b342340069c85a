// The one `countrace` program: finds the verb and runs it.
#include <csignal>
#include <cstdio>
#include <string>

#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/out_of_memory.h"
#include "cli/program/verb.h"

namespace {

using countrace::cli::Arguments;
using countrace::cli::FindVerb;
using countrace::cli::Verb;
using countrace::runtime::FileRights;
using countrace::runtime::SetFileRights;

int UnknownVerb(const std::string& name) {
  const std::string message =
      countrace::base::EscapeName(countrace::cli::NoSuchVerb(name));
  std::fprintf(stderr, "countrace: %s\nSee `countrace help`.\n",
               message.c_str());
  return countrace::cli::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  countrace::cli::ExitWhenMemoryRunsOut(argc > 1 ? argv[1] : "");
  std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || name == "-V") name = "version";
  const Verb* const verb = FindVerb(name);
  // Before anything is opened.
  const absl::Status dropped =
      SetFileRights(verb == nullptr ? FileRights::kGivenUp : verb->rights);
  if (!dropped.ok()) return countrace::cli::ReportFailure(name, dropped);
  if (argc < 2) {
    std::fputs("countrace: a verb is missing; see `countrace help`\n", stderr);
    return countrace::cli::kExitUsage;
  }
  if (verb == nullptr) return UnknownVerb(name);
  // `countrace report | head` ends as quietly as any filter, even if the parent
  // ignores SIGPIPE. The command of `record` and `stat` must inherit the
  // disposition unchanged.
  if (verb->name != "record" && verb->name != "stat") {
    std::signal(SIGPIPE, SIG_DFL);
  }
  return verb->run(Arguments(argv + 2, argv + argc));
}
