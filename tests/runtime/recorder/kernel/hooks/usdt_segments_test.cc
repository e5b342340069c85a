#include "runtime/recorder/kernel/hooks/usdt_segments.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace countrace::runtime {
namespace {

using Place = HookAttachment::Place;

std::vector<UsdtNote> NotesNamed(const std::vector<std::string>& names) {
  std::vector<UsdtNote> notes;
  for (const std::string& name : names) {
    const std::size_t colon = name.find(':');
    UsdtNote& note = notes.emplace_back();
    note.provider = name.substr(0, colon);
    note.name = name.substr(colon + 1);
  }
  return notes;
}

}  // namespace

TEST_CASE("usdt segments: each custom of naming a pair is a segment",
          "[runtime][usdt]") {
  const auto notes = NotesNamed(
      {"a:f__enter", "a:f__exit", "postgresql:query__start",
       "postgresql:query__done", "python:function__entry",
       "python:function__return", "hotspot:gc__begin", "hotspot:gc__end"});
  const UsdtSegments segments(notes);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    CAPTURE(notes[i].name);
    CHECK(segments.PartOf(notes[i]).place ==
          (i % 2 == 0 ? Place::kEnter : Place::kExit));
    CHECK(segments.PartOf(notes[i]).stem == segments.PartOf(notes[i ^ 1]).stem);
  }
  CHECK(segments.PartOf(notes[2]).stem == "query");
}

TEST_CASE("usdt segments: without its partner in the file a probe is a point",
          "[runtime][usdt]") {
  const auto notes = NotesNamed({"a:query__start", "b:query__done",
                                 "a:gc__begin", "a:gc__done", "a:__start",
                                 "a:__done", "a:plain", "a:f__exit"});
  const UsdtSegments segments(notes);
  for (std::size_t i = 0; i + 1 < notes.size(); ++i) {
    CAPTURE(notes[i].name);
    CHECK(segments.PartOf(notes[i]).place == Place::kPoint);
    CHECK(segments.PartOf(notes[i]).stem == notes[i].name);
  }
  // A hook of ours may begin in another library.
  CHECK(segments.PartOf(notes.back()).place == Place::kExit);
  CHECK(segments.PartOf(notes.back()).stem == "f");
}

}  // namespace countrace::runtime
