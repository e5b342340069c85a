#include "cli/program/short_name.h"

#include <catch2/catch.hpp>
#include <string>

namespace countrace::cli {
namespace {

TEST_CASE("short names: what fits stays", "[cli][short_name]") {
  CHECK(ShortFunction("main", 4) == "main");
  CHECK(ShortFunction("f(int, std::vector<int>)", 24) ==
        "f(int, std::vector<int>)");
  CHECK(ShortPath("/src/file.cc:12", 15) == "/src/file.cc:12");
}

TEST_CASE("short names: arguments go first, then the end",
          "[cli][short_name]") {
  const std::string name = "a::Map<int, std::string>::at(int const&) const";
  CHECK(ShortFunction(name, 45) == "a::Map<int, std::string>::at(...) const");
  CHECK(ShortFunction(name, 30) == "a::Map<...>::at(...) const");
  CHECK(ShortFunction(name, 12) == "a::Map<.....");
  CHECK(ShortFunction("    " + name, 30) == "    a::Map<...>::at(...) const");
  // Go's and Rust's.
  CHECK(ShortFunction("main.(*server).handleRequest", 20) ==
        "main.(...).handle...");
}

TEST_CASE("short names: what a name begins or ends with stays",
          "[cli][short_name]") {
  CHECK(ShortFunction("(anonymous namespace)::f(int, int, int, int)", 32) ==
        "(anonymous namespace)::f(...)");
  CHECK(ShortFunction("Spin(unsigned long, unsigned long) (inlined)", 25) ==
        "Spin(...) (inlined)");
  CHECK(ShortFunction("a::operator<<(std::ostream&, int)", 20) ==
        "a::operator<<(...)");
  CHECK(ShortFunction("a::operator()(int, int, int) const", 25) ==
        "a::operator()(...) const");
  CHECK(ShortFunction("f<a->b, long, long, long>()", 12) == "f<...>()");
}

TEST_CASE("short names: damaged names have at most so many bytes",
          "[cli][short_name]") {
  for (const std::string name :
       {"f(((((((((((((", "f<<<<<<<<<<<<<", "))))))))))))))", ">>>>>>>>>>>>>>>",
        "(operator<((((((((",
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"}) {
    for (std::size_t columns = 4; columns < 20; ++columns) {
      CHECK(ShortFunction(name, columns).size() <= columns);
      CHECK(ShortPath(name, columns).size() <= columns);
    }
  }
  CHECK(ShortFunction("\xc3\xa4\xc3\xa4\xc3\xa4", 4) == "...");
  CHECK(ShortPath("/some/where/file.cc:12", 13) == "...file.cc:12");
}

}  // namespace
}  // namespace countrace::cli
