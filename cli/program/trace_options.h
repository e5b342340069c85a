// The options of a reading verb that concern traces.
#ifndef COUNTRACE_CLI_PROGRAM_TRACE_OPTIONS_H_
#define COUNTRACE_CLI_PROGRAM_TRACE_OPTIONS_H_

#include <string>
#include <vector>

namespace countrace::cli {

inline constexpr char kDefaultTrace[] = "countrace.ctf";

struct TraceOptions {
  std::string trace = kDefaultTrace;
  std::vector<std::string> more_traces;  // read as one with `trace`
  std::string pairs;                     // --pairs: messages between hosts
  bool no_progress = false;

  // How to read traces of other tools.
  std::string mapping_file;         // --map
  std::vector<std::string> limits;  // --import-limit
  bool via_babeltrace = false;      // for tests: also traces of countrace
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_TRACE_OPTIONS_H_
