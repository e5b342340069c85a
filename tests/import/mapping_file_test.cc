// Mapping files: their content, and the places of errors in them.
#include "logformat/import/mapping/mapping_file.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace countrace::importer {

TEST_CASE("mapping file: everything it can say", "[rmap][foreign]") {
  const auto mapping = ParseMapping(R"(ignore = ["lttng_*", "x:?"]
[segment."shop:serve"]
begin = "shop:serve_begin"
end = "shop:serve_end"
key = ["order", "shelf"]
[segment."shop:order"]
begin = "shop:taken"
end = "shop:given"
key = ["id"]
across_threads = true
[point."shop:coin"]
event = "shop:tick"
[counter."bytes-sent"]
field = "tx_bytes"
event = "net:*"
)",
                                    "m.toml");
  REQUIRE(mapping.ok());
  CHECK(mapping->ignore == std::vector<std::string>{"lttng_*", "x:?"});
  REQUIRE(mapping->segments.size() == 2);
  const SegmentMapping& order = mapping->segments[0];
  CHECK(order.name == "shop:order");
  CHECK(order.across_threads);
  const SegmentMapping& serve = mapping->segments[1];
  CHECK(serve.begin == "shop:serve_begin");
  CHECK(serve.end == "shop:serve_end");
  CHECK(serve.key == std::vector<std::string>{"order", "shelf"});
  CHECK_FALSE(serve.across_threads);
  CHECK(serve.place == "m.toml:2:10");
  REQUIRE(mapping->points.size() == 1);
  CHECK(mapping->points[0].event == "shop:tick");
  REQUIRE(mapping->counters.size() == 1);
  CHECK(mapping->counters[0].field == "tx_bytes");
  CHECK(mapping->counters[0].event == "net:*");
}

TEST_CASE("mapping file: an error says where and what", "[rmap][foreign]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"segmnt = 1", "m:1:1: unknown key `segmnt`; did you mean `segment`"},
      {"[segment.\"a\"]\nbegin=\"x\"", "m:1:10: `a` is no name of a hook"},
      {"[segment.\"a:b\"]\nbegin = \"x\"", "m:1:10: `a:b` has no end"},
      {"[segment.\"a:b\"]\nbegin = 3", "m:2:9: begin is no text"},
      {"[segment.\"a:b\"]\nbegin=\"x\"\nend=\"y\"\nkey=\"k\"",
       "m:4:5: key is no list"},
      {"[segment.\"a:b\"]\nbegin=\"x\"\nend=\"y\"\nacross_threads=true",
       "m:1:10: `a:b` is across threads and has no key"},
      {"[segment.\"a:b\"]\nbegin=\"x\"\nend=\"x\"",
       "m:1:10: event `x` is mapped twice"},
      {"[segment.a.b]\nbegin=\"x\"", "m:1:10: `a` is no name of a hook"},
      {"segment = 4", "m:1:11: segment is no table"},
      {"[point.\"a:b\"]\n", "m:1:8: `a:b` has no event"},
      {"[counter.x]\nfeld=\"f\"",
       "m:2:1: unknown key `feld`; did you mean `field`"},
      {"[counter.x]\n", "m:1:10: `x` has no field"},
      {"ignore = [1]", "m:1:11: ignore is no text"},
      {"x = ", "m:1:"},
      {std::string(300000, '\n'), "m:1:1: 300000 bytes"},
      {std::string(70, '['), "m:1:1: more than 64 brackets"},
  }));
  CAPTURE(text);
  const auto mapping = ParseMapping(text, "m");
  REQUIRE_FALSE(mapping.ok());
  CHECK_THAT(std::string(mapping.status().message()),
             Catch::StartsWith(message));
}

TEST_CASE("mapping file: globs of event names", "[rmap][foreign]") {
  const auto [glob, name, matches] =
      GENERATE(table<const char*, const char*, bool>({
          {"*", "", true},
          {"*", "a:b", true},
          {"a:*", "a:b", true},
          {"a:*", "b:a", false},
          {"*_end", "shop:serve_end", true},
          {"a*b*c", "axxbxbyc", true},
          {"a*b*c", "axxbxby", false},
          {"a?c", "abc", true},
          {"a?c", "ac", false},
          {"", "", true},
          {"", "a", false},
      }));
  CAPTURE(glob, name);
  CHECK(MatchesEventGlob(glob, name) == matches);
}

}  // namespace countrace::importer
