#include "base/text/glob.h"

#include <catch2/catch.hpp>

namespace countrace::base {
namespace {

TEST_CASE("glob: a pattern matches whole names", "[base][glob]") {
  CHECK(GlobMatches("server:*", "server:handle"));
  CHECK(GlobMatches("*", "a/b.c"));  // no path: a slash is a character
  CHECK(GlobMatches("req[0-9]?", "req4x"));
  CHECK(GlobMatches("a\\*b", "a*b"));
  CHECK_FALSE(GlobMatches("server", "server:handle"));
  CHECK_FALSE(GlobMatches("a\\*b", "axb"));
}

}  // namespace
}  // namespace countrace::base
