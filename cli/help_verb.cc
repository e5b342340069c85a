#include <string>

#include "absl/strings/str_format.h"
#include "cli/exit_status.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"

namespace countrace::cli {
namespace {

constexpr VerbText kText = {
    .name = "help",
    .summary = "explain a verb",
    .usage = "[VERB]",
    .details = "",
    .examples = "countrace help record\n",
};

std::string Overview() {
  std::string out =
      "countrace: where did the counts go? Cycles, page faults, CPU time,\n"
      "switches: per process, per thread, per code segment, over time.\n"
      "\n"
      "usage: countrace VERB [options] [TRACE] [-- COMMAND...]\n"
      "\n"
      "verbs:\n";
  for (const Verb& verb : AllVerbs()) {
    out += absl::StrFormat("  %-9s %s\n", verb.name, verb.summary);
  }
  out +=
      "\n"
      "A trace is a directory; without a name it is countrace.ctf.\n"
      "Data goes to standard output, talk and progress to standard error.\n"
      "\n"
      "examples:\n"
      "  # the whole machine while a command runs: hooks, dispatches, "
      "counters\n"
      "  countrace record -a -o web.ctf -- ./server --bench\n"
      "  countrace report web.ctf\n"
      "  countrace view web.ctf\n"
      "\n"
      "exit status: 0 ok, 1 failed, 2 wrong usage, 3 records were lost (only\n"
      "with --fail-on-loss), 5 privilege missing; `record` passes the status\n"
      "of its command through.\n"
      "\n"
      "See `countrace help VERB`.\n";
  return out;
}

}  // namespace

int RunHelp(const Arguments& arguments) {
  VerbParser parser(kText);
  std::string name;
  parser.AddPositional("verb", name);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (name.empty()) return PrintData(kText.name, Overview());
  const Verb* const verb = FindVerb(name);
  if (verb == nullptr) {
    Say(kText.name,
        absl::StrFormat("there is no verb `%s`; see `countrace help`", name));
    return kExitUsage;
  }
  return verb->run({"--help"});
}

}  // namespace countrace::cli
