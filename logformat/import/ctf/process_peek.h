// Finds the process of each thread in a kernel trace, before the trace is
// converted: LTTng's state dump contains it, but is written while events are
// already recorded, and threads end.
//
// Reads the beginning of the trace, up to the end of the dump. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_PROCESS_PEEK_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_PROCESS_PEEK_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace countrace::importer {

// Process by thread. Empty if no trace is from LTTng's kernel tracer, has no
// dump, or names the process in each event. Reports no errors; the conversion
// will find and report them.
std::map<std::int32_t, std::int32_t> PeekProcesses(
    const std::vector<std::string>& directories);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_PROCESS_PEEK_H_
