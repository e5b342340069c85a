// What the page shows of many instants, for its replay: the answers that
// `state` and `aggregate` give of each, in one (API.md, "frames").
#ifndef COUNTRACE_VIEWER_SERVER_API_FRAMES_API_H_
#define COUNTRACE_VIEWER_SERVER_API_FRAMES_API_H_

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/http_message.h"

namespace countrace::viewer {

HttpResponse AnswerFrames(const TimelineIndex& index,
                          const HttpRequest& request);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_FRAMES_API_H_
