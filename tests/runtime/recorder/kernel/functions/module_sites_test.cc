#include "runtime/recorder/kernel/functions/module_sites.h"

#include <catch2/catch.hpp>
#include <string>

namespace countrace::runtime {

using Kind = ModuleSite::Kind;

TEST_CASE("module sites: the print format says what a place is",
          "[runtime][kernel]") {
  const auto site = ParseModuleSite(
      "name: handle__enter__drv_31\nID: 7\nformat:\n"
      "\tfield:u64 arg0;\toffset:8;\tsize:8;\tsigned:0;\n\n"
      "print fmt: \"countrace enter drv:handle 42 /a folder/drv.c:31\"\n");
  REQUIRE(site.has_value());
  CHECK(site->kind == Kind::kEnter);
  CHECK(site->provider == "drv");
  CHECK(site->name == "handle");
  CHECK(site->location == "/a folder/drv.c:31, id 42");
  const auto exit =
      ParseModuleSite("print fmt: \"countrace exit d:a.b 0 d.c:1\"");
  REQUIRE(exit.has_value());
  CHECK(exit->kind == Kind::kExit);
  CHECK(exit->location == "d.c:1");
}

TEST_CASE("module sites: other tracepoints are none, and cut ones neither",
          "[runtime][kernel]") {
  for (const char* text :
       {"", "print fmt: \"", "print fmt: \"countrace ",
        "print fmt: \"countrace enter\"", "print fmt: \"countrace enter a:b\"",
        "print fmt: \"countrace enter ab 0 c:1\"",
        "print fmt: \"countrace other a:b 0 c:1\"",
        "print fmt: \"comm=%s\", REC->comm"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseModuleSite(text).has_value());
  }
}

}  // namespace countrace::runtime
