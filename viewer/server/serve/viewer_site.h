// The whole site: guard, then assets or API, then the headers of every answer.
//
// Flow: HttpServer -> ViewerSite::Answer -> AnswerApi or an asset. Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_SERVE_VIEWER_SITE_H_
#define COUNTRACE_VIEWER_SERVER_SERVE_VIEWER_SITE_H_

#include <string>
#include <utility>

#include "viewer/server/api/served_indexes.h"
#include "viewer/server/api/source_files.h"
#include "viewer/server/http/http_message.h"
#include "viewer/server/http/request_guard.h"
#include "viewer/server/http/trace_events.h"

namespace countrace::viewer {

class ViewerSite {
 public:
  // `indexes`, `events` (may be null: no trace) and `sources` (may be null:
  // none were named) must outlive the site. `page`: the asset that "/" shows.
  ViewerSite(const ServedIndexes& indexes, const TraceEvents* events,
             RequestGuard guard, const SourceFiles* sources = nullptr,
             std::string page = "/")
      : indexes_(indexes),
        events_(events),
        sources_(sources),
        guard_(std::move(guard)),
        page_(std::move(page)) {}

  HttpResponse Answer(const HttpRequest& request) const;
  const RequestGuard& guard() const { return guard_; }

 private:
  HttpResponse Route(const HttpRequest& request) const;

  const ServedIndexes& indexes_;
  const TraceEvents* events_;
  const SourceFiles* sources_;
  RequestGuard guard_;
  const std::string page_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_SERVE_VIEWER_SITE_H_
