#include "base/text/text_table.h"

#include <catch2/catch.hpp>

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

}  // namespace
}  // namespace countrace::base
