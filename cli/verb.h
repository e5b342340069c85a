// The verbs of the `countrace` program. Each is one file, VERB_verb.cc, which
// parses its options, calls one function of the module that does the work, and
// prints.
#ifndef COUNTRACE_CLI_VERB_H_
#define COUNTRACE_CLI_VERB_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::cli {

// What follows the verb on the command line.
using Arguments = std::vector<std::string>;

struct Verb {
  std::string_view name;
  std::string_view summary;                // one line of `countrace help`
  int (*run)(const Arguments& arguments);  // returns the exit status
};

// In the order in which a newcomer meets them.
std::span<const Verb> AllVerbs();
// Null if there is none of this name.
const Verb* FindVerb(std::string_view name);

int RunRecord(const Arguments& arguments);
int RunSnapshot(const Arguments& arguments);
int RunReport(const Arguments& arguments);
int RunDiff(const Arguments& arguments);
int RunState(const Arguments& arguments);
int RunView(const Arguments& arguments);
int RunScript(const Arguments& arguments);
int RunInfo(const Arguments& arguments);
int RunVerify(const Arguments& arguments);
int RunRecover(const Arguments& arguments);
int RunImport(const Arguments& arguments);
int RunList(const Arguments& arguments);
int RunHooks(const Arguments& arguments);
int RunDoctor(const Arguments& arguments);
int RunHelp(const Arguments& arguments);
int RunVersion(const Arguments& arguments);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_VERB_H_
