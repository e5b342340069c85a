// What the command line says about traces that countrace did not record.
#ifndef COUNTRACE_CLI_FOREIGN_CHOICE_H_
#define COUNTRACE_CLI_FOREIGN_CHOICE_H_

#include <string>
#include <vector>

namespace countrace::cli {

struct ForeignChoice {
  std::string first_trace;               // the verb's, if it was given
  std::vector<std::string> more_traces;  // read as one with it
  std::string mapping_file;
  std::vector<std::string> limits;  // of --import-limit
  bool no_progress = false;
  bool via_babeltrace = false;  // also traces of our own
};

// The one of this program: options of many verbs lead here, and every trace
// that is opened asks it.
inline ForeignChoice& foreign_choice() {
  static ForeignChoice choice;
  return choice;
}

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_FOREIGN_CHOICE_H_
