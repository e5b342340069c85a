// Tables of samples: by function, line, file or address, with self and total.
//
// In: Samples, whose code is named here. Out: rows, most self first. Thread:
// any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_FUNCTION_ROWS_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_FUNCTION_ROWS_H_

#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/result/samples.h"
#include "rmap/samples/names/code_places.h"
#include "rmap/samples/rows/place_rows.h"
#include "rmap/samples/sums/event_books.h"

namespace countrace::rmap {

// "server:handle > syscall:read" of each of Samples::contexts; empty: nothing
// was open.
std::vector<std::string> ContextTexts(const Samples& samples,
                                      const logformat::TraceInfo& info);

// A function has a row for each segment and system call that were open.
SampleTable MakeCodeTable(const Samples& samples,
                          const logformat::TraceInfo& info, SampleBy by,
                          const SampleChoice& choice = {});

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_FUNCTION_ROWS_H_
