// Queries of the page: in a process of `countrace` with limits.
#include "viewer/server/tables/limited_query.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>

#include "tests/support/trace_builder.h"

namespace countrace::viewer {
namespace {

using namespace std::chrono_literals;
using test_support::TempDirectory;
using test_support::TraceBuilder;

constexpr char kForEver[] =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT count(*) FROM c";
// Text with ends of lines in its cells.
constexpr char kLines[] =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT "
    "1000) SELECT x, 'a' || char(13, 10) || 'b' AS t FROM c";

struct Queried {
  TempDirectory directory;
  std::string trace = directory.path() + "/a.ctf";
  QueryLimits limits = {.program = COUNTRACE_PROGRAM};

  Queried() {
    TraceBuilder made(trace);
    made.Cpu(0).ProcessState(1000, 1, 1, 1, 0, "on\xff");
    made.Finish();
  }
  absl::StatusOr<QueryAnswer> Run(const std::string& sql) const {
    return RunLimitedQuery(trace, sql, {}, limits);
  }
};

TEST_CASE("an answer has whole lines, and errors have the command's words") {
  Queried of;
  const auto whole = of.Run("SELECT 1 AS n");
  REQUIRE(whole.ok());
  CHECK(whole->csv == "n\r\n1\r\n");
  CHECK(!whole->cut);
  CHECK(whole->said.empty());
  const auto names = of.Run("SELECT comm FROM processes");
  REQUIRE(names.ok());
  CHECK(names->said.find("not UTF-8") != std::string::npos);
  const auto wrong = of.Run("SELECT nope");
  CHECK(absl::IsInvalidArgument(wrong.status()));
  CHECK(wrong.status().message().find("no such column: nope") == 0);
  // Words of the statement are no reason.
  CHECK(absl::IsInvalidArgument(
      of.Run("SELECT \"out of memory\" FROM x").status()));
  // Longer than what is read of it.
  const auto wide = of.Run("SELECT [" + std::string(20'000, 'x') + "]");
  CHECK(absl::IsInvalidArgument(wide.status()));
  CHECK(wide.status().message().size() > 1000);
  of.limits.answer_bytes = 100;
  const auto cut = of.Run(kLines);
  REQUIRE(cut.ok());
  CHECK(cut->cut);
  CHECK(cut->csv.starts_with("x,t\r\n1,a\\x0d\\x0ab\r\n2,"));
  CHECK(cut->csv.ends_with(",a\\x0d\\x0ab\r\n"));
  CHECK(cut->csv.size() <= 100);
}

TEST_CASE("time, memory and a later query end one") {
  Queried of;
  of.limits.time = 1000ms;
  const auto slow = of.Run(kForEver);
  CHECK(absl::IsResourceExhausted(slow.status()));
  CHECK(slow.status().message().find("its time of 1 s") != std::string::npos);
  of.limits.time = 60s;
  of.limits.memory_bytes = std::uint64_t{64} << 20;
  // One value, and what is sorted.
  for (const char* sql :
       {"SELECT length(hex(zeroblob(200000000)))",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT "
        "200000) SELECT count(*) FROM (SELECT x, hex(zeroblob(1000)) AS y FROM "
        "c ORDER BY y || x)"}) {
    const auto large = of.Run(sql);
    INFO(large.status().ToString());
    CHECK(absl::IsResourceExhausted(large.status()));
  }
  auto first =
      std::async(std::launch::async, [&] { return of.Run(kForEver).status(); });
  // Not those of another trace.
  const Queried other;
  CHECK(other.Run("SELECT 1").ok());
  CHECK(first.wait_for(100ms) == std::future_status::timeout);
  // The first may begin after one of these, and end it.
  absl::Status later;
  do {
    later = of.Run("SELECT 1").status();
  } while (first.wait_for(0ms) != std::future_status::ready);
  CHECK(later.ok());
  CHECK(absl::IsCancelled(first.get()));
}

}  // namespace
}  // namespace countrace::viewer
