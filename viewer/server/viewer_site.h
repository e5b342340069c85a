// The whole site: guard, then assets or API, then the headers of every answer.
//
// Flow: HttpServer -> ViewerSite::Answer -> AnswerApi or an asset. Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_VIEWER_SITE_H_
#define COUNTRACE_VIEWER_SERVER_VIEWER_SITE_H_

#include "viewer/index/timeline_index.h"
#include "viewer/server/http_message.h"
#include "viewer/server/request_guard.h"
#include "viewer/server/trace_events.h"

namespace countrace::viewer {

class ViewerSite {
 public:
  // `index` and `events` (may be null: no trace) must outlive the site.
  ViewerSite(const TimelineIndex& index, const TraceEvents* events,
             RequestGuard guard)
      : index_(index), events_(events), guard_(std::move(guard)) {}

  HttpResponse Answer(const HttpRequest& request) const;
  const RequestGuard& guard() const { return guard_; }

 private:
  HttpResponse Route(const HttpRequest& request) const;

  const TimelineIndex& index_;
  const TraceEvents* events_;
  RequestGuard guard_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_VIEWER_SITE_H_
