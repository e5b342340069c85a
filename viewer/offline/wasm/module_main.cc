// The entry points of the wasm module: an index in memory, and answers
// to the requests that the page would send to a server.
//
// One thread. The caller writes into memory that Reserve() gave, and reads an
// answer before it calls Ask() again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rmap/samples/names/named_samples.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/offline/stored_functions.h"
#include "viewer/server/api/index_api.h"
#include "viewer/server/wire/api_answer.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {
namespace {

std::unique_ptr<TimelineIndex> open_index;
std::optional<rmap::NamedSamples> open_samples;
HttpResponse answer;

HttpResponse Answer(const HttpRequest& request) {
  ApiQuery query(request);
  std::string_view name = query.path();
  name.remove_prefix(std::min(kApiPrefix.size(), name.size()));
  if (name == "index") return AnswerGrowth(*open_index, {});
  if (name == "source") {
    return AnswerJson(
        {{"found", false}, {"reason", "Source files are not in this file"}});
  }
  if (auto response = AnswerFromIndex(*open_index, request)) {
    return *std::move(response);
  }
  if (name == "functions" && open_samples) {
    return AnswerStoredFunctions(*open_index, *open_samples, query);
  }
  if (name == "annotate") {
    return Refuse(501,
                  "This file has names of functions, not their code: open the "
                  "trace with `countrace view`, or ask `countrace annotate`");
  }
  if (name == "events" || name == "csv" || name == "compare" ||
      name == "calltree" || name == "functions") {
    return Refuse(501,
                  "This file has the timeline's index, not the trace: open the "
                  "trace with `countrace view` for this");
  }
  return Refuse(404, "No such address");
}

std::string Text(const char* data, std::size_t bytes) { return {data, bytes}; }

}  // namespace
}  // namespace countrace::viewer

using countrace::viewer::answer;

extern "C" {

// Memory of so many bytes, aligned to 16.
[[clang::export_name("reserve")]] void* Reserve(std::size_t bytes) {
  return std::malloc(bytes);
}
[[clang::export_name("release")]] void Release(void* memory) {
  std::free(memory);
}

// Opens the index in memory that Reserve() gave, which it keeps. Returns: the
// status of an answer; 200, or 500 with the reason as its body.
[[clang::export_name("open")]] int Open(const std::byte* data,
                                        std::size_t bytes) {
  using namespace countrace::viewer;
  auto index = TimelineIndex::OpenBytes({data, bytes}, "this file");
  if (!index.ok()) {
    answer = Refuse(500, std::string(index.status().message()));
    return answer.status;
  }
  open_index = *std::move(index);
  return 200;
}

// Takes the samples, which it copies. Returns: as Open().
[[clang::export_name("take_samples")]] int TakeSamples(const std::byte* data,
                                                       std::size_t bytes) {
  using namespace countrace::viewer;
  auto samples = countrace::rmap::DecodeNamedSamples({data, bytes});
  if (!samples.ok()) {
    answer = Refuse(500, std::string(samples.status().message()));
    return answer.status;
  }
  open_samples = *std::move(samples);
  return 200;
}

// Answers a request; its body, if there is one, is JSON. Returns: the status.
// Requires: Open() returned 200.
[[clang::export_name("ask")]] int Ask(
    const char* method, std::size_t method_bytes, const char* target,
    std::size_t target_bytes, const char* body, std::size_t body_bytes) {
  using namespace countrace::viewer;
  HttpRequest request;
  request.method = Text(method, method_bytes);
  request.target = Text(target, target_bytes);
  request.content_type = "application/json";
  request.body = Text(body, body_bytes);
  answer = Answer(request);
  return answer.status;
}

[[clang::export_name("body")]] const char* Body() { return answer.body.data(); }
[[clang::export_name("body_bytes")]] std::size_t BodyBytes() {
  return answer.body.size();
}

}  // extern "C"
