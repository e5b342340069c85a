// What happens when operator new fails: a message and exit status 1, where the
// C++ library would abort.
#ifndef COUNTRACE_CLI_PROGRAM_OUT_OF_MEMORY_H_
#define COUNTRACE_CLI_PROGRAM_OUT_OF_MEMORY_H_

#include <string_view>

namespace countrace::cli {

// For the whole program, from the first line of main() on. `name`: of the verb,
// as given. `record` keeps 8 MiB in reserve:
// the first failure uses them, so that a recording of which memory is short can
// end in order; a second one ends the recorder.
void ExitWhenMemoryRunsOut(std::string_view name);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_OUT_OF_MEMORY_H_
