// The parameters of a request, checked: what is wrong with one is 400 with the
// reason, never a guess.
#ifndef COUNTRACE_VIEWER_SERVER_WIRE_API_QUERY_H_
#define COUNTRACE_VIEWER_SERVER_WIRE_API_QUERY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "viewer/index/rows/interval_row.h"
#include "viewer/server/http/http_message.h"
#include "viewer/server/http/query_string.h"

namespace countrace::viewer {

// Short-lived; refers to the request.
class ApiQuery {
 public:
  explicit ApiQuery(const HttpRequest& request)
      : request_(request), target_(ParseTarget(request.target)) {}

  const HttpRequest& request() const { return request_; }
  std::string_view path() const { return target_.path; }
  // Empty: absent, or empty.
  std::string_view Word(std::string_view name) const;
  bool Has(std::string_view name) const {
    return target_.parameters.contains(name);
  }

  // Absent, with error() set: it is missing (and `otherwise` is absent), no
  // number, or above `most`.
  std::optional<std::uint64_t> Number(std::string_view name,
                                      std::optional<std::uint64_t> otherwise,
                                      std::uint64_t most = ~std::uint64_t{0});
  // Numbers separated by commas; none if it is absent. Absent, with error()
  // set: one is no number, or there are more than `most`.
  std::optional<std::vector<std::uint64_t>> Numbers(std::string_view name,
                                                    std::size_t most);
  // A text, percent-decoded. Absent, with error() set: a '%' without two hex
  // digits.
  std::optional<std::string> Text(std::string_view name);
  // `from` and `to`.
  std::optional<TimeRange> Range(std::string_view from = "from",
                                 std::string_view to = "to");
  const std::string& error() const { return error_; }
  void set_error(std::string error) { error_ = std::move(error); }

 private:
  const HttpRequest& request_;
  const Target target_;
  std::string error_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_WIRE_API_QUERY_H_
