#include "base/text/text_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

namespace countrace::base {
namespace {

using Align = TextTable::Align;

TextTable Sample(std::size_t indent) {
  TextTable table(indent);
  table.AddColumn("name", Align::kLeft);
  table.AddColumn("count", Align::kRight);
  table.AddColumn("detail", Align::kRight, /*optional=*/true);
  table.AddRow({"gr\xc3\xbcn", "7", "x"});
  table.AddHeading("then");
  table.AddRow({"b", "1,000"});
  return table;
}

TEST_CASE("text_table: columns are aligned by code points",
          "[base][text_table]") {
  CHECK(Sample(2).Render(80, false) ==
        "  name  count  detail\n"
        "  gr\xc3\xbcn      7       x\n"
        "  then\n"
        "  b     1,000\n");
  CHECK(Sample(0).Render(80, true) ==
        "\x1b[1mname  count  detail\x1b[0m\n"
        "gr\xc3\xbcn      7       x\n"
        "then\n"
        "b     1,000\n");
}

TEST_CASE("text_table: dropped columns are named", "[base][text_table]") {
  CHECK(Sample(2).Render(14, false) ==
        "  name  count\n"
        "  gr\xc3\xbcn      7\n"
        "  then\n"
        "  b     1,000\n"
        "  (not shown for lack of width: detail)\n");
}

TEST_CASE("text table: of very many dropped columns the first are named",
          "[base]") {
  TextTable table;
  table.AddColumn("name", Align::kLeft);
  for (int i = 0; i < 128; ++i) {
    table.AddColumn("event-" + std::to_string(100 + i), Align::kRight,
                    /*optional=*/true);
  }
  table.AddRow({"row"});
  const std::string text = table.Render(40, false);
  // The last columns are dropped: 3 are shown, 125 are not.
  CHECK(text.find("event-102") != std::string::npos);
  const std::size_t said = text.find("  (not shown for lack of width: ");
  REQUIRE(said != std::string::npos);
  const std::string names = text.substr(said);
  CHECK(names.size() < 250);
  CHECK(names.starts_with("  (not shown for lack of width: event-103, "));
  const auto named = 1 + std::count(names.begin(), names.end(), ',');
  CHECK(names.ends_with(" and " + std::to_string(125 - named) + " more)\n"));
  // All are there where there is room.
  CHECK(table.Render(10'000, false).find("not shown") == std::string::npos);
}

}  // namespace
}  // namespace countrace::base
