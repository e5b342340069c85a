#include "cli/program/help_text.h"

#include <catch2/catch.hpp>

namespace countrace::cli {
namespace {

constexpr char kText[] =
    "try something\n"
    "\n"
    "options:\n"
    "  -h, --help              show this text\n"
    "  -o, --output DIR        where to; --force is for later\n"
    "      --metrics[=GLOB]    some\n"
    "      --rotate DURATION|instance\n"
    "                          --turns of sets\n"
    "\n"
    "  --count user            no option: the indent is another\n"
    "\n"
    "topic more: all the rest\n"
    "\n"
    "      --size SIZE         at most\n"
    "\n"
    "topic last: the end\n"
    "\n"
    "The end.\n";

TEST_CASE("help_text: the page ends where the first topic begins",
          "[cli][help_text]") {
  const HelpText help("try", kText);
  const std::string page = help.Page();
  CHECK(page.starts_with("countrace try: try something\n\noptions:\n"));
  CHECK(
      page.ends_with("another\n\n"
                     "topics (countrace help try TOPIC, or `all`):\n"
                     "  more      all the rest\n"
                     "  last      the end\n"));
  CHECK(help.AllPages() == page +
                               "\ncountrace try, more: all the rest\n\n"
                               "      --size SIZE         at most\n"
                               "\ncountrace try, last: the end\n\n"
                               "The end.\n");
  CHECK(help.FindTopic("mor") == nullptr);
  REQUIRE(help.FindTopic("last") != nullptr);
  CHECK(help.FindTopic("last")->text == "The end.\n");
}

TEST_CASE("help_text: a text without topics is its page", "[cli][help_text]") {
  CHECK(HelpText("try", "try something\n").Page() ==
        "countrace try: try something\n");
}

TEST_CASE("help_text: an option is what stands where options stand",
          "[cli][help_text]") {
  const HelpText help("try", kText);
  const auto check = [&help](const char* name, const char* short_name,
                             const char* value) {
    CAPTURE(name);
    const auto option = help.FindOption(name);
    REQUIRE(option.has_value());
    CHECK(option->short_name == short_name);
    CHECK(option->value == value);
  };
  check("--help", "-h", "");
  check("--output", "-o", "DIR");
  check("--metrics", "", "");
  check("--rotate", "", "DURATION|instance");
  check("--size", "", "SIZE");
  for (const char* name : {"--force", "--count", "--turns", "--out", "-o"}) {
    CAPTURE(name);
    CHECK_FALSE(help.FindOption(name).has_value());
  }
}

}  // namespace
}  // namespace countrace::cli
