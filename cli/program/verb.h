// The verbs of the `countrace` program. Each is one file, VERB_verb.cc, which
// parses its options, calls one function of the module that does the work, and
// prints; help/VERB.txt explains it.
#ifndef COUNTRACE_CLI_PROGRAM_VERB_H_
#define COUNTRACE_CLI_PROGRAM_VERB_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/recorder/system/file_rights.h"

namespace countrace::cli {

// What follows the verb on the command line.
using Arguments = std::vector<std::string>;

struct Verb {
  std::string_view name;
  const char* text;                        // help/NAME.txt, see HelpText
  int (*run)(const Arguments& arguments);  // returns the exit status
  runtime::FileRights rights = runtime::FileRights::kGivenUp;
};

extern const Verb kRecordVerb;
extern const Verb kSnapshotVerb;
extern const Verb kStatVerb;
extern const Verb kReportVerb;
extern const Verb kAnnotateVerb;
extern const Verb kDiffVerb;
extern const Verb kQueryVerb;
extern const Verb kStateVerb;
extern const Verb kViewVerb;
extern const Verb kReplayVerb;
extern const Verb kScriptVerb;
extern const Verb kInfoVerb;
extern const Verb kVerifyVerb;
extern const Verb kRecoverVerb;
extern const Verb kExportVerb;
extern const Verb kImportVerb;
extern const Verb kLoadVerb;
extern const Verb kListVerb;
extern const Verb kHooksVerb;
extern const Verb kDoctorVerb;
extern const Verb kHelpVerb;
extern const Verb kVersionVerb;

// Null if there is no verb of this name.
const Verb* FindVerb(std::string_view name);

// "there is no verb `recrod`; did you mean `record`?"
std::string NoSuchVerb(std::string_view name);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_VERB_H_
