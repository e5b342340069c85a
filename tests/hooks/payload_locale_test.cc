// Payloads as text in a locale whose decimal point is not '.'. A separate
// program: it skips if no such locale is installed.
#include <catch2/catch.hpp>
#include <clocale>
#include <string>

#include "hooks/lttng/payload_text.h"

namespace {

TEST_CASE("payload text: the decimal point is a point in every locale") {
  bool found = false;
  // The last one's point has two bytes.
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    found = true;
    countrace_hook_site site{};
    site.count = 2;
    site.types[0] = site.types[1] = COUNTRACE_TYPE_DOUBLE;
    countrace_value values[2]{};
    values[0].as.d = 2.5;
    values[1].as.d = -1.25e-300;
    char text[COUNTRACE_PAYLOAD_TEXT_BYTES];
    countrace_payload_text(&site, values, text);
    CHECK(std::string(text) == "(2.5, -1.25e-300)");
  }
  if (!found)
    WARN("SKIPPED: no locale with another decimal point is installed");
}

}  // namespace
