// --sort puts the rows of each table in the order of one field of their JSON,
// keeps every row, and does not touch call paths.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rmap/columns/report_tables.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "rmap/where/row_order.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::rmap::where {
namespace {

using nlohmann::json;

Report SimulatedReport(std::uint32_t seed) {
  auto run = test_support::Simulate(test_support::RandomOptions(seed));
  auto report = Reconstruct(*run.trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

json JsonOf(const Report& report) {
  return json::parse(RenderReport(report, {.format = ReportFormat::kJson}));
}

// null if a step of the path is absent.
json At(const json& row, const std::vector<std::string>& path) {
  json value = row;
  for (const std::string& name : path) {
    if (!value.is_object() || !value.contains(name)) return nullptr;
    value = json(value[name]);
  }
  return value;
}

struct Order {
  const char* table;
  std::string field;
  std::vector<std::string> path;
};

const Order kOrders[] = {
    {"processes", "dispatches", {"dispatches"}},
    {"processes", "comm", {"comm"}},
    {"processes", "page-faults", {"counts", "page-faults"}},
    {"threads", "wait_ns", {"wait_ns"}},
    {"segments", "wall_ns", {"wall_ns", "incl"}},
    {"segments", "wall_ns.max", {"wall_ns", "max"}},
    {"segments", "segment", {"segment"}},
    {"hooks", "hits", {"hits"}},
    {"cpus", "idle_ns", {"idle_ns"}},
};

TEST_CASE("sort: rows stand in the order of one field, and none is lost",
          "[rmap][where][property]") {
  std::size_t moved = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Report report = SimulatedReport(seed);
    const json before = JsonOf(report);
    for (const Order& order : kOrders) {
      CAPTURE(seed, order.table, order.field);
      REQUIRE(CheckOrder(order.field, report, ReportBy::kDefault).ok());
      Report sorted = report;
      SortRows(order.field, sorted);
      const json after = JsonOf(sorted);
      json expected = before[order.table];
      std::stable_sort(
          expected.begin(), expected.end(), [&](const json& a, const json& b) {
            const json x = At(a, order.path), y = At(b, order.path);
            if (x.is_null() || y.is_null()) return !x.is_null();
            return x.is_string() ? x < y : x > y;
          });
      CHECK(after[order.table] == expected);
      CHECK(after["segment_paths"] == before["segment_paths"]);
      moved += expected != before[order.table] ? 1 : 0;
    }
  }
  CHECK(moved > 20);
}

TEST_CASE("sort: a field that is not there is an error that names a near one",
          "[rmap][where]") {
  const Report report = SimulatedReport(1);
  const absl::Status near = CheckOrder("dispatchs", report, ReportBy::kProcess);
  CHECK(near.message().find("did you mean `dispatches`?") != std::string::npos);
  CHECK(near.message().find("fields of processes:") != std::string::npos);
  CHECK(CheckOrder("wall_ns", report, ReportBy::kSegment).ok());
  CHECK_FALSE(CheckOrder("wall_ns", report, ReportBy::kProcess).ok());
  CHECK(CheckOrder("wall_ns", report, ReportBy::kPath)
            .message()
            .find("--by segment") != std::string::npos);
}

}  // namespace
}  // namespace countrace::rmap::where
