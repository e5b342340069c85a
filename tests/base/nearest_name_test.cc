#include "base/text/nearest_name.h"

#include <catch2/catch.hpp>

namespace countrace::base {
namespace {

TEST_CASE("nearest_name: a misspelt name has one, another word has none",
          "[base][nearest_name]") {
  CHECK(EditDistance("", "abc") == 3);
  CHECK(EditDistance("kitten", "sitting") == 3);
  CHECK(NearestName("reprot", {"record", "report", "recover"}) == "report");
  CHECK(NearestName("cycels", {"instructions", "cycles"}) == "cycles");
  CHECK(NearestName("xyz", {"record", "report"}).empty());
}

}  // namespace
}  // namespace countrace::base
