// Notes of a trace: what is kept where, and what is refused.
#include "viewer/server/tables/trace_notes.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/trace_builder.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/server/api/posted_api.h"
#include "viewer/server/http/trace_events.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;
using test_support::TempDirectory;

// A folder that has what a trace's folder has, and a cache.
struct Folders {
  TempDirectory directory;
  std::string trace = directory.path() + "/a.ctf";
  std::string file = trace + "/.timeline.notes";
  Fingerprint id{};

  Folders() {
    std::filesystem::create_directory(trace);
    Put(trace + "/metadata", "");
    id.uuid[0] = 0xab;
    ::setenv("XDG_CACHE_HOME", directory.path().c_str(), 1);
  }
  static void Put(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  std::string cached() const {
    return directory.path() + "/countrace/ab000000000000000000000000000000" +
           ".notes";
  }
};

// Json{one} is `one` for some compilers.
Json List(Json::initializer_list_t notes) { return Json::array(notes); }
Json NoteAt(std::uint64_t at, std::string text = "x") {
  return {{"at", at}, {"text", std::move(text)}};
}

TEST_CASE("notes are what was written, with the rights of the trace's files") {
  const Folders of;
  CHECK(*ReadNotes(of.trace, of.id) == Json::array());
  REQUIRE(::chmod((of.trace + "/metadata").c_str(), 0664) == 0);
  const Json first =
      List({NoteAt(5), NoteAt(5), NoteAt(std::uint64_t{1} << 53)});
  REQUIRE(WriteNotes(of.trace, of.id, Json::array(), first).ok());
  CHECK(*ReadNotes(of.trace, of.id) == first);
  struct stat status {};
  REQUIRE(::stat(of.file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777u) == 0664u);
  CHECK(absl::IsAborted(
      WriteNotes(of.trace, of.id, Json::array(), List({NoteAt(1)}))));
  CHECK(*ReadNotes(of.trace, of.id) == first);
  REQUIRE(::chmod((of.trace + "/metadata").c_str(), 0640) == 0);
  REQUIRE(WriteNotes(of.trace + "/", of.id, first, Json::array()).ok());
  REQUIRE(::stat(of.file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777u) == 0640u);
  CHECK(*ReadNotes(of.trace, of.id) == Json::array());
}

TEST_CASE("those of a folder that was not writable are in the cache") {
  const Folders of;
  std::filesystem::create_directory(of.directory.path() + "/countrace");
  Folders::Put(of.cached(), List({NoteAt(7)}).dump());
  CHECK(*ReadNotes(of.trace, of.id) == List({NoteAt(7)}));
  // Another trace at the same place has none.
  CHECK(*ReadNotes(of.trace, Fingerprint{}) == Json::array());
  // The trace's own come first where one can write them.
  REQUIRE(
      WriteNotes(of.trace, of.id, List({NoteAt(7)}), List({NoteAt(8)})).ok());
  CHECK(*ReadNotes(of.trace, of.id) == List({NoteAt(8)}));
  CHECK(std::filesystem::exists(of.file));
}

TEST_CASE("what is no list of notes is refused, however deep, and stays") {
  const Folders of;
  const Json kept = List({NoteAt(1)});
  REQUIRE(WriteNotes(of.trace, of.id, Json::array(), kept).ok());
  const Json deep =
      Json::parse(std::string(200'000, '[') + std::string(200'000, ']'));
  for (const Json& wrong :
       {Json::object(), List({1}), List({NoteAt((std::uint64_t{1} << 53) + 1)}),
        List({NoteAt(1, std::string(kMostNoteBytes + 1, 'x'))}),
        Json(kMostNotes + 1, NoteAt(1)),
        Json(200, NoteAt(1, std::string(kMostNoteBytes, 'x')))}) {
    CHECK(absl::IsInvalidArgument(WriteNotes(of.trace, of.id, kept, wrong)));
  }
  CHECK(absl::IsInvalidArgument(WriteNotes(of.trace, of.id, deep, kept)));
  CHECK(absl::IsInvalidArgument(WriteNotes(of.trace, of.id, kept, deep)));
  CHECK(*ReadNotes(of.trace, of.id) == kept);
  for (const char* text : {"", "{", "[1]", "[{\"at\":-1,\"text\":\"\"}]"}) {
    Folders::Put(of.file, text);
    const auto read = ReadNotes(of.trace, of.id);
    CHECK(absl::IsFailedPrecondition(read.status()));
    CHECK(read.status().message().find(of.file) != std::string::npos);
    CHECK(absl::IsFailedPrecondition(
        WriteNotes(of.trace, of.id, Json::array(), kept)));
  }
}

TEST_CASE("the page of a copy keeps no notes, and says why") {
  const Folders of;
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 100});
  const auto asked = [&](const TraceEvents& events, const std::string& method,
                         const std::string& body = "") {
    HttpRequest request;
    request.method = method;
    request.content_type = "application/json";
    request.body = body;
    return *AnswerPosted(*built.index, &events, request, "notes");
  };
  constexpr char kBody[] = R"({"before":[],"notes":[{"at":1,"text":"x"}]})";
  const TraceEvents copy(of.trace, of.trace + "-of-another-tool");
  CHECK(asked(copy, "GET").body == R"({"notes":[]})");
  const HttpResponse refused = asked(copy, "POST", kBody);
  CHECK(refused.status == 400);
  CHECK(refused.body.find("countrace import -o") != std::string::npos);
  const TraceEvents own(of.trace, of.trace);
  const std::string deep(100'000, '[');
  CHECK(asked(own, "POST",
              R"({"before":[],"notes":)" + deep +
                  std::string(deep.size(), ']') + "}")
            .status == 400);
  CHECK(asked(copy, "GET").body == R"({"notes":[]})");
  CHECK(asked(own, "POST", kBody).status == 200);
  CHECK(asked(own, "GET").body == R"({"notes":[{"at":1,"text":"x"}]})");
}

}  // namespace
}  // namespace countrace::viewer
