// Two traces side by side: the page of each in a folder of its own, /a/ and
// /b/, and a page with both (API.md, "Side by side"). Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_SERVE_PAIR_SITE_H_
#define COUNTRACE_VIEWER_SERVER_SERVE_PAIR_SITE_H_

#include <string>

#include "viewer/server/http/http_message.h"
#include "viewer/server/serve/viewer_site.h"

namespace countrace::viewer {

class PairSite {
 public:
  // The sites have the same token; they and the traces must outlive this one.
  PairSite(const ViewerSite& before, const ViewerSite& after,
           std::string before_path, std::string after_path)
      : before_(before),
        after_(after),
        before_path_(std::move(before_path)),
        after_path_(std::move(after_path)) {}

  HttpResponse Answer(const HttpRequest& request) const;

 private:
  const ViewerSite& before_;
  const ViewerSite& after_;
  const std::string before_path_, after_path_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_SERVE_PAIR_SITE_H_
