#include "logformat/import/program/import_talk.h"

#include <catch2/catch.hpp>
#include <string>

namespace countrace::importer {

TEST_CASE("import talk: lines in pieces are progress, an error, the end",
          "[import][import_talk]") {
  ImportTalk talk;
  CHECK_FALSE(talk.TakeOutput("progress 12"));
  CHECK(talk.TakeOutput("3 7\n"));
  CHECK(talk.done_bytes == 123);
  CHECK(talk.time_ns == 7);
  CHECK_FALSE(talk.TakeOutput("progress 123 7\n"));  // no further
  talk.TakeOutput("error 3 first\1second\ndone\n");
  REQUIRE(talk.error.has_value());
  CHECK(*talk.error == absl::InvalidArgumentError("first\nsecond"));
  CHECK(talk.done);
}

TEST_CASE("import talk: a line without an end takes no more than its limit",
          "[import][import_talk]") {
  ImportTalk talk;
  talk.TakeOutput("error 3 ");
  const std::string piece(1 << 16, 'x');
  for (int i = 0; i < 100; ++i) talk.TakeOutput(piece);
  talk.TakeOutput("\ndone\n");
  REQUIRE(talk.error.has_value());
  CHECK(talk.error->message().size() < ImportTalk::kMaxLine);
  CHECK(talk.done);
}

TEST_CASE("import talk: reasons without an end take no more than their limit",
          "[import][import_talk]") {
  ImportTalk talk;
  for (int i = 0; i < 10'000; ++i) talk.TakeOutput("unconfined no seccomp\n");
  CHECK(talk.unconfined.starts_with("no seccomp; no seccomp; "));
  CHECK(talk.unconfined.size() == ImportTalk::kMaxErrorText);
}

TEST_CASE("import talk: of errors the beginning and the end are kept",
          "[import][import_talk]") {
  ImportTalk talk;
  talk.TakeErrors("first\n");
  for (int i = 0; i < 10'000; ++i) talk.TakeErrors("again\n");
  talk.TakeErrors("last\n");
  CHECK(talk.first_errors.starts_with("first\nagain\n"));
  CHECK(talk.first_errors.size() == ImportTalk::kMaxErrorText);
  CHECK(talk.errors.ends_with("again\nlast\n"));
  CHECK(talk.errors.size() == ImportTalk::kMaxErrorText);
}

}  // namespace countrace::importer
