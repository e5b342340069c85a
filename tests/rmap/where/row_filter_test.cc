// --where selects the rows that filtering the JSON by hand selects, for random
// reports and expressions; every error is the same as before.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <regex>
#include <sstream>

#include "base/text/token_reader.h"
#include "rmap/columns/report_tables.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "rmap/where/row_filter.h"
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

RowSelection Selected(const std::string& text, const Report& report) {
  const auto where = ParseWhere(text);
  INFO(text << "\n" << where.status().message());
  REQUIRE(where.ok());
  const auto selection = SelectRows(*where, report);
  INFO(selection.status().message());
  REQUIRE(selection.ok());
  return *selection;
}

// --- By hand -----------------------------------------------------------------

// A condition and its value for a row of the JSON; null: neither true nor
// false.
struct Condition {
  std::string text;
  std::function<std::optional<bool>(const json& row)> holds;
};

struct Table {
  const char* name;
  std::vector<std::vector<std::string>> numbers, texts;
};
const Table kTables[] = {
    {"processes",
     {{"pid"}, {"on_cpu_ns"}, {"dispatches"}, {"counts", "page-faults"}},
     {{"comm"}, {"quality"}}},
    {"threads", {{"tid"}, {"wait_ns"}, {"migrations"}}, {{"comm"}}},
    {"segments",
     {{"calls"},
      {"wall_ns", "incl"},
      {"wall_ns", "p99"},
      {"off_cpu_ns", "excl"},
      {"counts", "cycles", "incl"}},
     {{"segment"}, {"on_cpu_quality"}}},
    {"segment_paths", {{"calls"}, {"on_cpu_ns", "incl"}}, {{"path"}}},
    {"cpus", {{"cpu"}, {"idle_ns"}}, {}},
    {"hooks", {{"hits"}}, {{"hook"}}},
};

std::optional<json> At(const json& row, const std::vector<std::string>& name) {
  const json* place = &row;
  for (const std::string& part : name) {
    if (!place->is_object() || !place->contains(part)) return std::nullopt;
    place = &(*place)[part];
  }
  if (place->is_null()) return std::nullopt;
  if (!place->is_array()) return *place;
  std::string joined;
  for (const json& part : *place) {
    joined += (joined.empty() ? "" : " > ") + part.get<std::string>();
  }
  return joined;
}

std::string Spelled(const std::vector<std::string>& name, unsigned spelling) {
  std::string full;
  for (const std::string& part : name) full += (full.empty() ? "" : ".") + part;
  if (spelling % 3 == 0) return "`" + full + "`";
  if (spelling % 3 == 1) return full;
  // The short form: without counts. and .incl.
  if (full.starts_with("counts.")) full = full.substr(7);
  if (full.ends_with(".incl")) full.resize(full.size() - 5);
  return full;
}

class Conditions {
 public:
  Conditions(const Table& table, const json& rows, unsigned seed)
      : table_(table), rows_(rows), random_(seed) {}

  Condition Any(int depth) {
    const auto kind = Pick(depth > 2 ? 2 : 6);
    if (kind == 0 && !table_.texts.empty()) return Text();
    if (kind <= 2) return Number();
    if (kind == 3) {
      const Condition inner = Any(depth + 1);
      return {"!(" + inner.text + ")", [inner](const json& row) {
                auto value = inner.holds(row);
                if (value) value = !*value;
                return value;
              }};
    }
    const Condition a = Any(depth + 1), b = Any(depth + 1);
    const bool both = kind == 4;
    return {"(" + a.text + (both ? ") && (" : ") || (") + b.text + ")",
            [a, b, both](const json& row) -> std::optional<bool> {
              const auto x = a.holds(row), y = b.holds(row);
              if (x && *x != both) return !both;
              if (y && *y != both) return !both;
              if (x && y) return both;
              return std::nullopt;
            }};
  }

 private:
  std::size_t Pick(std::size_t n) { return random_() % n; }

  // A value from some row, so that conditions use values that occur.
  std::optional<json> Sample(const std::vector<std::string>& name) {
    if (rows_.empty()) return std::nullopt;
    return At(rows_[Pick(rows_.size())], name);
  }

  Condition Number() {
    const auto& name = table_.numbers[Pick(table_.numbers.size())];
    const std::int64_t sample =
        Sample(name).value_or(json(0)).get<std::int64_t>();
    const std::int64_t limit = sample + static_cast<std::int64_t>(Pick(3)) - 1;
    const std::string op =
        std::array<std::string, 6>{"==", "!=", "<", "<=", ">", ">="}[Pick(6)];
    const std::string field = Spelled(name, static_cast<unsigned>(Pick(3)));
    const bool swapped = Pick(4) == 0;
    const std::string text =
        swapped ? std::to_string(limit) + op + field
                : field + " " + op + " " + std::to_string(limit);
    return {text, [=](const json& row) -> std::optional<bool> {
              const auto value = At(row, name);
              if (!value) return std::nullopt;
              std::int64_t a = value->get<std::int64_t>(), b = limit;
              if (swapped) std::swap(a, b);
              if (op == "==") return a == b;
              if (op == "!=") return a != b;
              if (op == "<") return a < b;
              if (op == "<=") return a <= b;
              if (op == ">") return a > b;
              return a >= b;
            }};
  }

  Condition Text() {
    const auto& name = table_.texts[Pick(table_.texts.size())];
    const std::string sample =
        Sample(name).value_or(json("x")).get<std::string>();
    const std::string field = Spelled(name, static_cast<unsigned>(Pick(3)));
    const bool pattern = Pick(2) == 0, negated = Pick(2) == 0;
    const std::string wanted =
        pattern ? sample.substr(0, sample.size() / 2) + ".*$" : sample;
    const char* op =
        pattern ? (negated ? "!~" : "=~") : (negated ? "!=" : "==");
    return {field + " " + op + " \"" + wanted + "\"",
            [=](const json& row) -> std::optional<bool> {
              const auto value = At(row, name);
              if (!value) return std::nullopt;
              const std::string text = value->get<std::string>();
              const bool same =
                  pattern ? std::regex_search(text, std::regex(wanted))
                          : text == wanted;
              return same != negated;
            }};
  }

  const Table& table_;
  const json& rows_;
  std::mt19937 random_;
};

TEST_CASE("where: selects what filtering the JSON by hand selects",
          "[rmap][where]") {
  std::size_t some = 0, none = 0, all = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Report report = SimulatedReport(seed);
    const json whole =
        json::parse(RenderReport(report, {.format = ReportFormat::kJson}));
    for (unsigned round = 0; round < 24; ++round) {
      const Table& table = kTables[round % std::size(kTables)];
      Conditions conditions(table, whole[table.name], seed * 100 + round);
      const Condition condition = conditions.Any(0);
      CAPTURE(seed, table.name, condition.text);
      const RowSelection selection = Selected(condition.text, report);
      const json shown = json::parse(RenderReport(
          report, {.format = ReportFormat::kJson, .selection = &selection}));
      json expected = json::array();
      for (const json& row : whole[table.name]) {
        if (condition.holds(row).value_or(false)) expected.push_back(row);
      }
      REQUIRE(shown[table.name] == expected);
      (expected.empty()                              ? none
       : expected.size() == whole[table.name].size() ? all
                                                     : some)++;
      CHECK(shown["where"]["tables"][table.name]["selected"] ==
            expected.size());
      CHECK(shown["where"]["tables"][table.name]["rows"] ==
            whole[table.name].size());
      // Everything else is that of the whole trace.
      for (const char* part : {"trace", "books", "loss"}) {
        CHECK(shown[part] == whole[part]);
      }
      // CSV and JSONL have the same rows.
      const std::string csv = RenderReport(
          report,
          {.format = ReportFormat::kJsonLines, .selection = &selection});
      std::size_t lines = 0;
      std::istringstream in(csv);
      for (std::string line; std::getline(in, line);) {
        lines +=
            line.starts_with(std::string("{\"table\":\"") + table.name + "\"");
      }
      CHECK(lines == expected.size());
    }
  }
  CHECK(some > 200);
  CHECK(none > 20);
  CHECK(all > 20);
}

TEST_CASE("where: shares add up, and are of the books' totals",
          "[rmap][where]") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Report report = SimulatedReport(seed);
    const RowSelection every = Selected("pid != -7", report);
    const RowSelection odd = Selected("pid >= 102", report);
    const RowSelection rest = Selected("!(pid >= 102)", report);
    for (const ReportBy table : {ReportBy::kProcess, ReportBy::kThread,
                                 ReportBy::kSegment, ReportBy::kHook}) {
      CAPTURE(seed, TableName(table));
      const TableSelection& all = every.Of(table);
      CHECK(all.selected == all.rows.size());
      CHECK(odd.Of(table).selected + rest.Of(table).selected == all.selected);
      for (std::size_t i = 0; i < all.shares.size(); ++i) {
        const SelectedShare& share = all.shares[i];
        CAPTURE(share.name);
        if (!share.of_books) CHECK(share.selected == share.total);
        CHECK(odd.Of(table).shares[i].selected +
                  rest.Of(table).shares[i].selected ==
              share.selected);
        CHECK(odd.Of(table).shares[i].total == share.total);
        if (share.of_books && table == ReportBy::kProcess) {
          const auto event = EventIndex(report.events, share.name);
          REQUIRE(event);
          const Books& books = report.books[*event];
          CHECK(share.total == books.total);
          CHECK(share.selected == books.processes + books.own);
        }
      }
    }
    CHECK_FALSE(every.Of(ReportBy::kCpu).applies());
    CHECK(every.Of(ReportBy::kCpu).missing == std::vector<std::string>{"pid"});
  }
}

TEST_CASE("where: text names what it left out and how much it shows",
          "[rmap][where]") {
  const Report report = SimulatedReport(4);
  const RowSelection selection =
      Selected("segment =~ \":a$\" && calls > 0", report);
  const std::string text = RenderReport(
      report, {.max_rows = 0, .width = 200, .selection = &selection});
  CHECK_THAT(text, Catch::Contains("SELECTED by segment =~ \":a$\" && calls"));
  CHECK_THAT(text,
             Catch::Contains(
                 "processes left out: their rows have no field `segment`"));
  CHECK_THAT(text, !Catch::Contains("\nPROCESSES"));
  CHECK_THAT(text, Catch::Contains("BOOKS"));
  CHECK_THAT(text, !Catch::Contains("sim:b\n"));
  // Only threads have this field; the default report does not show them.
  const RowSelection threads = Selected("migrations >= 0", report);
  CHECK_THAT(RenderReport(report, {.selection = &threads}),
             Catch::Contains("\nTHREADS"));
}

TEST_CASE("where: a value that is not known is neither true nor false",
          "[rmap][where]") {
  Report report;
  report.events = {{.name = "cycles"}};
  for (const int pid : {1, 2}) {
    ProcessRow row;
    row.pid = pid;
    row.comm = "x";
    row.counts = {std::nullopt};
    if (pid == 2) row.counts[0] = 5;
    report.processes.push_back(row);
  }
  const auto pids = [&](const std::string& text) {
    const RowSelection selection = Selected(text, report);
    std::vector<int> found;
    for (const ProcessRow& row :
         SelectedRows(report.processes, &selection, ReportBy::kProcess)) {
      found.push_back(row.pid);
    }
    return found;
  };
  using Pids = std::vector<int>;
  CHECK(pids("cycles > 3") == Pids{2});
  CHECK(pids("!(cycles > 3)") == Pids{});
  CHECK(pids("cycles > 3 || pid == 1") == Pids{1, 2});
  CHECK(pids("!(cycles > 3 && pid == 3)") == Pids{1, 2});
  CHECK(pids("cycles == cycles") == Pids{2});
  CHECK(pids("on_cpu_ns >= 0") == Pids{});
}

// --- Errors ------------------------------------------------------------------

TEST_CASE("where: errors are as in errors.golden", "[rmap][where]") {
  Report report;
  report.events = {{.name = "task-clock"}, {.name = "page-faults"}};
  const std::string path =
      std::string(COUNTRACE_WHERE_CASES) + "/errors.golden";
  std::ifstream file(path);
  REQUIRE(file);
  std::string shown, golden;
  std::size_t errors = 0;
  for (std::string line; std::getline(file, line);) {
    golden += line + "\n";
    if (!line.starts_with("> ")) continue;
    // "[table] expression"
    std::string text = line.substr(2);
    ReportBy table = ReportBy::kDefault;
    if (text.starts_with("[processes] ")) {
      table = ReportBy::kProcess;
      text = text.substr(text.find(' ') + 1);
    }
    const auto where = ParseWhere(text);
    const absl::Status status =
        where.ok() ? CheckWhere(*where, report, table) : where.status();
    CAPTURE(text);
    CHECK_FALSE(status.ok());
    shown += line + "\n" + std::string(status.message()) + "\n";
    ++errors;
  }
  CHECK(errors > 30);
  if (std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << shown;
  } else {
    CHECK(shown == golden);
  }
}

TEST_CASE("where: deep and long expressions are refused", "[rmap][where]") {
  const auto message = [](const std::string& text) {
    return std::string(ParseWhere(text).status().message());
  };
  CHECK_THAT(message(" "), Catch::Contains("1:1: an expression is missing"));
  const std::string deep(base::kMaxExpressionDepth + 1, '(');
  CHECK_THAT(message(deep + "pid == 1"), Catch::Contains("deep"));
  std::string longest = "pid == 1";
  while (longest.size() <= base::kMaxExpressionBytes) longest += " || pid == 1";
  CHECK_THAT(message(longest), Catch::Contains("at most 4096"));
  CHECK(ParseWhere(std::string(4000, '!') + "(pid == 1)").ok());
}

}  // namespace
}  // namespace countrace::rmap::where
