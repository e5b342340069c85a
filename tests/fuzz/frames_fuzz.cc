// Any bytes as the body of POST frames, over an index of many threads: the
// answer is a message, or a frame for each time, within the bound.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/fuzz/small_index.h"
#include "tests/support/trace_builder.h"
#include "viewer/server/api/frames_api.h"
#include "viewer/server/wire/api_bounds.h"

namespace {

using countrace::viewer::TimelineIndex;

const TimelineIndex& Index() {
  static const countrace::test_support::TempDirectory folder(
      countrace::test_support::TempDirectory::Place::kMemory);
  static const auto index = *TimelineIndex::Open(
      countrace::fuzz::WriteIndex(
          folder.path(),
          {.processes = 12, .threads_per_process = 8, .dispatches = 3000}),
      nullptr);
  return *index;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using Json = nlohmann::json;
  countrace::viewer::HttpRequest request;
  request.method = "POST";
  request.target = "/api/v1/frames";
  request.content_type = "application/json";
  request.body.assign(reinterpret_cast<const char*>(data), size);
  const auto answer = countrace::viewer::AnswerFrames(Index(), request);
  const Json json = Json::parse(answer.body, nullptr, false);
  if (!json.is_object()) std::abort();
  if (answer.status != 200) {
    if (answer.status != 400 && answer.status != 404) std::abort();
    return 0;
  }
  const Json asked = Json::parse(request.body);
  const std::size_t frames = json["frames"].size();
  if (frames > asked["times"].size() ||
      (frames == 0) != asked["times"].empty()) {
    std::abort();
  }
  if (frames > 1 &&
      answer.body.size() > 2 * countrace::viewer::kMaxFramesBytes) {
    std::abort();
  }
  return 0;
}
