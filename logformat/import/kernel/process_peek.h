// Which process each thread of a kernel trace is of, found out before it is
// converted: LTTng's state dump says it, but comes while the trace already
// goes on.
//
// Reads the beginning of the trace, up to the end of the dump. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_KERNEL_PROCESS_PEEK_H_
#define COUNTRACE_LOGFORMAT_IMPORT_KERNEL_PROCESS_PEEK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace countrace::importer {

// Process by thread. Empty if no trace is of LTTng's kernel tracer, has no
// dump, or says the process with each event. Errors: none; the conversion will
// meet and say them.
std::map<std::int32_t, std::int32_t> PeekProcesses(
    const std::vector<std::string>& directories);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_KERNEL_PROCESS_PEEK_H_
