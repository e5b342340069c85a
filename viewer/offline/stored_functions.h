// The table of functions of any range from samples that a page holds: the
// server's answer to `functions`, from the same sums by the same code.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_OFFLINE_STORED_FUNCTIONS_H_
#define COUNTRACE_VIEWER_OFFLINE_STORED_FUNCTIONS_H_

#include "rmap/samples/names/named_samples.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

HttpResponse AnswerStoredFunctions(const TimelineIndex& index,
                                   const rmap::NamedSamples& named,
                                   ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_OFFLINE_STORED_FUNCTIONS_H_
