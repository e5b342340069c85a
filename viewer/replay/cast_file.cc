#include "viewer/replay/cast_file.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"

namespace countrace::viewer {
namespace {

std::string Line(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace

std::string CastHeader(StageSize size, const std::string& title) {
  return Line({{"version", 2},
               {"width", size.columns},
               {"height", size.lines},
               {"title", title},
               {"env", {{"TERM", "xterm-256color"}}}});
}

std::string CastOutput(std::uint64_t time_ns, std::string_view output) {
  return absl::StrFormat(
      "[%d.%06d, \"o\", %s]\n", time_ns / 1'000'000'000,
      time_ns % 1'000'000'000 / 1000,
      nlohmann::json(std::string(output))
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace countrace::viewer
