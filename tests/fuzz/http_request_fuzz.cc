// Any request to the viewer's site: the first line is METHOD TARGET, then
// header lines "Name: value", an empty line, the body. Without the token
// nothing is answered but 401, 403 and the redirection; `Token` in a value
// stands for the right one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_replace.h"
#include "tests/fuzz/small_index.h"
#include "tests/support/trace_builder.h"
#include "viewer/server/serve/viewer_site.h"

namespace {

using countrace::viewer::HttpRequest;
using countrace::viewer::RequestGuard;
using countrace::viewer::ServedIndexes;
using countrace::viewer::TimelineIndex;
using countrace::viewer::ViewerSite;

constexpr std::uint16_t kPort = 8000;

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

HttpRequest Parse(std::string_view text) {
  HttpRequest request;
  const std::string_view first = TakeLine(text);
  const std::size_t space = std::min(first.find(' '), first.size());
  request.method = first.substr(0, space);
  request.target = first.substr(std::min(space + 1, first.size()));
  const std::pair<std::string_view, std::string*> fields[] = {
      {"Host: ", &request.host},
      {"Origin: ", &request.origin},
      {"Cookie: ", &request.cookie},
      {"Authorization: ", &request.authorization},
      {"Content-Type: ", &request.content_type},
      {"Sec-Fetch-Site: ", &request.fetch_site}};
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line.empty()) break;
    for (const auto& [name, value] : fields) {
      if (line.starts_with(name)) *value = line.substr(name.size());
    }
  }
  request.body = text;
  return request;
}

class Site {
 public:
  Site()
      : folder_(countrace::test_support::TempDirectory::Place::kMemory),
        site_(indexes_, nullptr, *RequestGuard::Create(kPort)) {
    indexes_.Publish(*TimelineIndex::Open(
        countrace::fuzz::WriteSmallIndex(folder_.path()), nullptr));
  }
  const ViewerSite& site() const { return site_; }

 private:
  countrace::test_support::TempDirectory folder_;
  ServedIndexes indexes_;
  ViewerSite site_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const Site site;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  HttpRequest request = Parse(text);
  const auto stranger = site.site().Answer(request);
  if (stranger.status < 300) {
    std::fprintf(stderr, "does not hold: %d without the token\n",
                 stranger.status);
    std::abort();
  }
  const std::string& token = site.site().guard().token();
  for (std::string* value :
       {&request.target, &request.cookie, &request.authorization}) {
    *value = absl::StrReplaceAll(*value, {{"Token", token}});
  }
  const auto answer = site.site().Answer(request);
  if (answer.status < 200 || answer.status > 599) std::abort();
  return 0;
}
