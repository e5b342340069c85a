#include "viewer/server/serve/viewer_site.h"

#include <string>
#include <string_view>

#include "viewer/server/api/timeline_api.h"
#include "viewer/server/http/query_string.h"
#include "viewer/server/http/web_assets.h"

namespace countrace::viewer {
namespace {

HttpResponse Plain(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

HttpResponse AssetAt(std::string_view path) {
  for (const WebAsset& asset : WebAssets()) {
    if (asset.path != path) continue;
    return {.status = 200,
            .content_type = std::string(asset.content_type),
            .body = std::string(asset.bytes),
            .headers = {}};
  }
  return Plain(404, "No such page\n");
}

}  // namespace

HttpResponse ViewerSite::Route(const HttpRequest& request) const {
  switch (guard_.Judge(request)) {
    case RequestGuard::Verdict::kForeign:
      return Plain(403,
                   "This address is not the viewer's. Open the one that "
                   "`countrace view` printed.\n");
    case RequestGuard::Verdict::kNoToken:
      return Plain(401,
                   "The token is missing or of another run. Open the address "
                   "that `countrace view` printed.\n");
    case RequestGuard::Verdict::kTokenInQuery: {
      // From a file (`--open`): a redirect would count as a foreign request,
      // and come without the cookie. The page itself removes the token.
      if (request.fetch_site == "cross-site") {
        HttpResponse page = AssetAt(page_);
        page.headers.emplace_back("Set-Cookie", guard_.Cookie());
        return page;
      }
      // Removes the token from the address bar, the history and the Referer.
      HttpResponse response = Plain(303, "");
      response.headers.emplace_back("Location", "/");
      response.headers.emplace_back("Set-Cookie", guard_.Cookie());
      return response;
    }
    case RequestGuard::Verdict::kAllowed:
      break;
  }
  const std::string_view path = ParseTarget(request.target).path;
  constexpr std::string_view kApi = "/api/";
  if (path.substr(0, kApi.size()) == kApi) {
    return AnswerApi(indexes_, events_, request, sources_);
  }
  HttpResponse page = AssetAt(path == "/" ? page_ : path);
  if (page.status == 200 && request.method != "GET" &&
      request.method != "HEAD") {
    HttpResponse response = Plain(405, "Only GET is allowed here\n");
    response.headers.emplace_back("Allow", "GET");
    return response;
  }
  return page;
}

HttpResponse ViewerSite::Answer(const HttpRequest& request) const {
  HttpResponse response = Route(request);
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'self'; object-src 'none'");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace countrace::viewer
