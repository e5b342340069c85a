// Whether a tracepoint's format is one that a kernel writes: libtraceevent dies
// of some that are not. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_FORMAT_CHECK_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_FORMAT_CHECK_H_

#include <string_view>

namespace countrace::importer::perf {

// `text`: "name: X", "ID: N", "format:", and lines "\tfield:TYPE NAME;
// \toffset:N;\tsize:N;\tsigned:N;". Nothing behind them.
bool IsKernelFormat(std::string_view text);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_FORMAT_CHECK_H_
