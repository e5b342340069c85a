#include "viewer/server/http/query_string.h"

namespace countrace::viewer {

Target ParseTarget(std::string_view text) {
  Target target;
  const std::size_t question = text.find('?');
  target.path = text.substr(0, question);
  if (question == std::string_view::npos) return target;
  std::string_view rest = text.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    const std::size_t equals = pair.find('=');
    target.parameters.emplace(
        pair.substr(0, equals),
        equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return target;
}

}  // namespace countrace::viewer
