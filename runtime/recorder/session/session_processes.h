// The processes that run inside a recording's session: they inherited its name
// in their environment.
//
// In: /proc. Out: pids. Thread: any. Other users' environments are readable for
// root alone.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_SESSION_PROCESSES_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_SESSION_PROCESSES_H_

#include <cstdint>
#include <set>
#include <string>

namespace countrace::runtime {

// Living ones, of the session in `directory`, the name that its programs got.
std::set<std::int32_t> ProcessesOfSession(const std::string& directory);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_SESSION_PROCESSES_H_
