#include "cli/program/verb_parser.h"
#include "base/text/nearest_name.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

namespace countrace::cli {
namespace {

constexpr Verb kSample = {.name = "sample",
                          .text =
                              "try something\n"
                              "\n"
                              "options:\n"
                              "  -a, --all               all of it\n",
                          .run = nullptr};

struct Parsed {
  std::vector<std::string> command;
  bool all = false;
  std::optional<int> status;
};

Parsed ParseCommand(const Arguments& arguments) {
  Parsed parsed;
  VerbParser parser(kSample);
  parser.AddFlag("--all", parsed.all);
  parser.TakeCommand(parsed.command);
  parsed.status = parser.Parse(arguments);
  return parsed;
}

TEST_CASE("verb_parser: a command keeps every argument of its own",
          "[cli][verb_parser]") {
  using Words = std::vector<std::string>;
  struct Case {
    Arguments arguments;
    Words command;
    bool all;
  };
  const Case cases[] = {{{"ls"}, {"ls"}, false},
                        {{"-a", "ls", "-a"}, {"ls", "-a"}, true},
                        {{"--", "ls", "-a"}, {"ls", "-a"}, false},
                        {{"-a", "--", "-odd", "--"}, {"-odd", "--"}, true},
                        {{"ls", "--", "-l"}, {"ls", "--", "-l"}, false},
                        {{"sh", "-c", "exit 3"}, {"sh", "-c", "exit 3"}, false},
                        {{"--", ""}, {""}, false},
                        {{"-a", "--"}, {}, true},
                        {{"-a"}, {}, true}};
  for (const Case& each : cases) {
    CAPTURE(each.arguments);
    const Parsed parsed = ParseCommand(each.arguments);
    CHECK_FALSE(parsed.status.has_value());
    CHECK(parsed.command == each.command);
    CHECK(parsed.all == each.all);
  }
}

TEST_CASE("verb_parser: an unknown option before the command is an error",
          "[cli][verb_parser]") {
  CHECK(ParseCommand({"--al", "ls"}).status == 2);
  CHECK(ParseCommand({"-x", "--", "ls"}).status == 2);
}

TEST_CASE("verb_parser: the nearest name is offered only when it is near",
          "[cli][verb_parser]") {
  const std::vector<std::string> names = {"record", "report", "recover"};
  CHECK(base::NearestName("recrod", names) == "record");
  CHECK(base::NearestName("repot", names) == "report");
  CHECK(base::NearestName("frobnicate", names).empty());
  CHECK(base::NearestName("", names).empty());
}

}  // namespace
}  // namespace countrace::cli
