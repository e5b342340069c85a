// Tiles, one or many (API.md, "Tiles").
#ifndef COUNTRACE_VIEWER_SERVER_API_TILES_API_H_
#define COUNTRACE_VIEWER_SERVER_API_TILES_API_H_

#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/http_message.h"

namespace countrace::viewer {

// `rest`: "ROW/LEVEL/INDEX".
HttpResponse AnswerTile(const TimelineIndex& index, std::string_view rest);
// The body names the tiles.
HttpResponse AnswerTiles(const TimelineIndex& index,
                         const HttpRequest& request);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_TILES_API_H_
