// Checks that a kernel could have written a tracepoint's format: libtraceevent
// crashes on some other ones. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_FORMAT_CHECK_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_FORMAT_CHECK_H_

#include <string_view>

namespace countrace::importer::perf {

// `text`: "name: X", "ID: N", "format:", and lines "\tfield:TYPE NAME;
// \toffset:N;\tsize:N;\tsigned:N;". No text may follow.
bool IsKernelFormat(std::string_view text);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_FORMAT_CHECK_H_
