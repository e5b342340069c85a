#include "viewer/server/serve/pair_site.h"

#include "viewer/server/api/reports_api.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

HttpResponse PairSite::Answer(const HttpRequest& request) const {
  const ApiQuery query(request);
  for (const ViewerSite* const site : {&before_, &after_}) {
    if (!query.path().starts_with(site == &before_ ? "/a/" : "/b/")) continue;
    HttpRequest inside = request;
    inside.target.erase(0, 2);
    return site->Answer(inside);
  }
  HttpRequest outside = request;
  if (query.path() == "/" &&
      before_.guard().Judge(request) == RequestGuard::Verdict::kAllowed) {
    outside.target.replace(0, 1, "/pair.html");
  }
  HttpResponse response = before_.Answer(outside);
  // The answer that the guard let through.
  if (query.path() == "/api/v1/diff" && response.status == 404) {
    ApiQuery asked(request);
    HttpResponse diff = AnswerDiff(before_path_, after_path_, asked);
    response.status = diff.status;
    response.content_type = std::move(diff.content_type);
    response.body = std::move(diff.body);
  }
  return response;
}

}  // namespace countrace::viewer
