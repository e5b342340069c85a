#include "viewer/server/api/tiles_api.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "base/text/quantity_parse.h"
#include "viewer/index/instant/tile.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_bounds.h"

namespace countrace::viewer {

using Json = nlohmann::json;

HttpResponse AnswerTile(const TimelineIndex& index, std::string_view rest) {
  const std::size_t first = rest.find('/');
  const std::size_t second =
      first == std::string_view::npos ? first : rest.find('/', first + 1);
  if (second == std::string_view::npos) return Refuse(404, "No such address");
  const auto row = base::ParseInteger(rest.substr(0, first));
  const auto level =
      base::ParseInteger(rest.substr(first + 1, second - first - 1));
  const auto number = base::ParseInteger(rest.substr(second + 1));
  if (!row || !level || !number || *row >= kNoKey || *level > kMaxLevel) {
    return Refuse(400, "Not a tile: expected tile/ROW/LEVEL/INDEX");
  }
  absl::StatusOr<std::string> tile =
      BuildTile(index,
                {.row = static_cast<std::uint32_t>(*row),
                 .level = static_cast<std::uint32_t>(*level),
                 .index = *number},
                0);
  if (!tile.ok()) return Refuse(tile.status());
  return AnswerBinary(*std::move(tile));
}

HttpResponse AnswerTiles(const TimelineIndex& index,
                         const HttpRequest& request) {
  if (request.content_type != "application/json") {
    return Refuse(415, "Expected Content-Type: application/json");
  }
  const Json json = Json::parse(request.body, nullptr, false);
  if (!json.is_object() || !json.contains("tiles") ||
      !json["tiles"].is_array()) {
    return Refuse(400,
                  "Expected {\"generation\": N, \"tiles\": [[row, level, "
                  "index], ...]}");
  }
  const Json& tiles = json["tiles"];
  if (tiles.size() > kMaxTilesInRequest) {
    return Refuse(400, absl::StrFormat("Too many tiles: tiles=%d, limit=%d",
                                       tiles.size(), kMaxTilesInRequest));
  }
  std::uint32_t generation = 0;
  if (const auto found = json.find("generation");
      found != json.end() && found->is_number_unsigned()) {
    generation = static_cast<std::uint32_t>(found->get<std::uint64_t>());
  }
  std::string body;
  for (const Json& tile : tiles) {
    if (!tile.is_array() || tile.size() != 3 ||
        !std::all_of(tile.begin(), tile.end(), [](const Json& number) {
          return number.is_number_unsigned();
        })) {
      return Refuse(400, "A tile is [row, level, index]");
    }
    const auto row = tile[0].get<std::uint64_t>();
    const auto level = tile[1].get<std::uint64_t>();
    if (row >= kNoKey || level > kMaxLevel) {
      return Refuse(
          400, absl::StrFormat("No such tile: row=%d, level=%d, max-level=%d",
                               row, level, kMaxLevel));
    }
    absl::StatusOr<std::string> built =
        BuildTile(index,
                  {.row = static_cast<std::uint32_t>(row),
                   .level = static_cast<std::uint32_t>(level),
                   .index = tile[2].get<std::uint64_t>()},
                  generation);
    if (!built.ok()) return Refuse(built.status());
    // The client requests again the tiles that did not fit.
    if (body.size() + built->size() > kMaxTilesBytes) break;
    body += *built;
  }
  return AnswerBinary(std::move(body));
}

}  // namespace countrace::viewer
