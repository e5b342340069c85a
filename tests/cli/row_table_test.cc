#include "cli/program/row_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace countrace::cli {
namespace {

RowTable Sample() {
  RowTable table("countrace.sample/1", "things", {"name", "count", "ready"});
  table.Add({std::string("first"), std::uint64_t{7}, true});
  table.Add({std::string("evil \x1b[2J,\""), ~std::uint64_t{0}, false});
  return table;
}

TEST_CASE("row_table: text has aligned columns and escaped names",
          "[cli][row_table]") {
  CHECK(Sample().Render("text") ==
        "name            count                 ready\n"
        "first           7                     yes\n"
        "evil \\x1b[2J,\"  18446744073709551615  no\n");
}

TEST_CASE("row_table: JSON names its schema and keeps every value",
          "[cli][row_table]") {
  const auto json = nlohmann::json::parse(Sample().Render("json"));
  CHECK(json["schema"] == "countrace.sample/1");
  REQUIRE(json["things"].size() == 2);
  CHECK(json["things"][0]["count"] == 7);
  CHECK(json["things"][1]["name"] == "evil \x1b[2J,\"");
  CHECK(json["things"][1]["count"] == ~std::uint64_t{0});
  CHECK(json["things"][1]["ready"] == false);
}

TEST_CASE("row_table: JSON lines are one document a row", "[cli][row_table]") {
  const std::string lines = Sample().Render("jsonl");
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  CHECK(first["name"] == "first");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
}

TEST_CASE("row_table: CSV has a head row and quotes", "[cli][row_table]") {
  CHECK(Sample().Render("csv") ==
        "name,count,ready\n"
        "first,7,true\n"
        "\"evil \\x1b[2J,\"\"\",18446744073709551615,false\n");
}

TEST_CASE("row_table: a name with a newline makes no row", "[cli][row_table]") {
  RowTable table("countrace.sample/1", "things", {"name", "state"});
  table.Add({std::string("a\nforged  on"), std::string("off")});
  CHECK(table.Render("text") ==
        "name             state\n"
        "a\\x0aforged  on  off\n");
  CHECK(table.Render("csv") ==
        "name,state\n"
        "a\\x0aforged  on,off\n");
}

TEST_CASE("row_table: a CSV name with a quote, a comma and a newline",
          "[cli][row_table]") {
  RowTable table("countrace.sample/1", "things", {"name"});
  table.Add({std::string("a\"b,\nc")});
  CHECK(table.Render("csv") == "name\n\"a\"\"b,\\x0ac\"\n");
}

TEST_CASE("row_table: no byte of JSON acts on a terminal", "[cli][row_table]") {
  RowTable table("countrace.sample/1", "things", {"name"});
  const std::string name = "\x1b[2J \xc2\x9b \xe2\x80\xae \x7f \xc3\xbc";
  table.Add({name});
  for (const char* const format : {"json", "jsonl"}) {
    const std::string text = table.Render(format);
    CHECK(std::all_of(text.begin(), text.end(), [](char c) {
      return c == '\n' || (c >= ' ' && c <= '~');
    }));
    const auto json = nlohmann::json::parse(text);
    CHECK((json.contains("things") ? json["things"][0] : json)["name"] == name);
  }
  table.Add({std::string("\xff")});
  CHECK_NOTHROW(nlohmann::json::parse(table.Render("json")));
}

TEST_CASE("row_table: an empty table is still valid JSON", "[cli][row_table]") {
  RowTable table("countrace.sample/1", "things", {"name"});
  const auto json = nlohmann::json::parse(table.Render("json"));
  CHECK(json["things"].empty());
}

}  // namespace
}  // namespace countrace::cli
