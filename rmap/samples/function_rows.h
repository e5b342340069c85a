// Tables of samples: by function, line, file or address, with self and total.
//
// In: Samples, whose code is named here. Out: rows, most self first. Thread:
// any.
#ifndef COUNTRACE_RMAP_SAMPLES_FUNCTION_ROWS_H_
#define COUNTRACE_RMAP_SAMPLES_FUNCTION_ROWS_H_

#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/samples/code_places.h"
#include "rmap/samples/event_books.h"
#include "rmap/samples/place_rows.h"
#include "rmap/samples/samples.h"

namespace countrace::rmap {

// "server:handle > syscall:read" of each of Samples::contexts; empty: nothing
// was open.
std::vector<std::string> ContextTexts(const Samples& samples,
                                      const logformat::TraceInfo& info);

// A function has a row for each segment and system call that were open.
CodeTable MakeCodeTable(const Samples& samples,
                        const logformat::TraceInfo& info, CodeBy by,
                        const SampleChoice& choice = {});

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_FUNCTION_ROWS_H_
