// The tables of samples as lists of columns: their names in JSON and CSV, their
// text, and which rows `--where` and `--sort` have.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rmap/columns/chosen_columns.h"
#include "rmap/report/report_views.h"
#include "rmap/report/text_tables.h"
#include "rmap/result/samples.h"
#include "rmap/where/row_filter.h"
#include "rmap/where/row_order.h"

namespace countrace::rmap {
namespace {

Report ReportOf(SampleBy by, const std::vector<std::string>& events,
                std::vector<SampleRow> rows, const std::string& group_by = "",
                bool without_in = false) {
  auto samples = std::make_shared<Samples>();
  for (const std::string& event : events) {
    samples->events.emplace_back().name = event;
  }
  auto table = std::make_shared<SampleTable>();
  table->by = by;
  table->group_by = group_by;
  table->without_in = without_in;
  if (!group_by.empty()) table->groups = {{"server", 812, 813}, {}};
  table->rows = std::move(rows);
  Report report;
  report.samples = samples;
  report.sample_table = table;
  return report;
}

SampledAmount Amount(std::uint64_t hits, std::uint64_t period = 1000) {
  SampledAmount amount;
  amount.hits = hits;
  amount.value = hits * period;
  amount.lo = amount.value / 2;
  amount.hi = amount.value * 2;
  amount.share = static_cast<double>(hits) / 200;
  amount.share_lo = amount.share / 2;
  amount.share_hi = amount.share * 1.5;
  return amount;
}

std::string Csv(const Report& report, std::vector<std::string> columns = {},
                const RowSelection* selection = nullptr) {
  RenderOptions options;
  options.by = ReportBy::kSample;
  options.columns = std::move(columns);
  options.selection = selection;
  return RenderCsv(report, options);
}

std::string Text(const Report& report) {
  RenderOptions options;
  TextTables tables(report, options);
  tables.Table("", SampleTextColumns(report), report.sample_table->rows);
  return tables.out();
}

TEST_CASE("sample columns: the names of countrace.samples/1") {
  const std::string code =
      "self_samples,self,self_lo,self_hi,total_samples,total,total_lo,"
      "total_hi,self_share,total_share\r\n";
  const std::string data =
      "self_samples,self,self_lo,self_hi,weights,self_share\r\n";
  const std::string instructions =
      "self_samples,self,self_lo,self_hi,self_share\r\n";
  const std::map<SampleBy, std::string> names = {
      {SampleBy::kFunction, "event,in,function,dso,inlined," + code},
      {SampleBy::kDso, "event,in,dso," + code},
      {SampleBy::kAddress,
       "event,in,function,dso,address,source,inlined," + code},
      {SampleBy::kLine, "event,in,source,dso," + code},
      {SampleBy::kFile, "event,in,source,dso," + code},
      {SampleBy::kInstruction, "event,in,instruction,class," + instructions},
      {SampleBy::kInstructionClass, "event,in,class," + instructions},
      {SampleBy::kFunctionInstruction,
       "event,in,function,dso,instruction,class," + instructions},
      {SampleBy::kCallTree, "event,depth,function,dso,inlined," + code},
      {SampleBy::kCallers, "event,depth,function,dso,inlined," + code},
      {SampleBy::kData, "event,in,data,of,dso," + data},
      {SampleBy::kDataPage, "event,in,data,of,dso,address," + data},
      {SampleBy::kDataAddress, "event,in,data,of,dso,address," + data},
      {SampleBy::kDataSource,
       "event,in,access,memory,snoop,tlb,locked," + data}};
  for (const auto& [by, expected] : names) {
    CHECK(Csv(ReportOf(by, {"cpu-clock"}, {})) == expected);
    for (const auto& column : SampleColumns(ReportOf(by, {"x"}, {}))) {
      CHECK(column.meaning.ends_with("."));
    }
  }
  for (const auto& [group_by, columns] :
       {std::pair{"thread", "event,comm,pid,tid,in,dso,"},
        std::pair{"process", "event,comm,pid,in,dso,"},
        std::pair{"cgroup", "event,cgroup,in,dso,"}}) {
    CHECK(Csv(ReportOf(SampleBy::kDso, {"x"}, {}, group_by)) == columns + code);
  }
  CHECK(Csv(ReportOf(SampleBy::kDso, {"x"}, {}, "", true)) ==
        "event,dso," + code);
}

TEST_CASE("sample columns: JSON and CSV have the same cells") {
  SampleRow named{.group = 0, .inlined = true, .in = "a:b"};
  named.function = "f\x1b[1m";
  named.dso = "lib \"x\"";
  named.self = Amount(3);
  named.total = Amount(7);
  const SampleRow unnamed{.group = 1};
  const Report report = ReportOf(SampleBy::kFunction, {"page-faults"},
                                 {named, unnamed}, "thread");
  std::vector<nlohmann::ordered_json> rows;
  RenderOptions options;
  options.by = ReportBy::kSample;
  ForEachJsonRow(report, options,
                 [&](const auto& row) { rows.push_back(row); });
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["function"] == "f\x1b[1m");
  CHECK(rows[0]["tid"] == 813);
  CHECK(rows[0]["inlined"] == true);
  CHECK(rows[0]["self"] == 3000);
  CHECK(rows[0]["total_hi"] == 14000);
  CHECK(rows[1]["comm"].is_null());
  CHECK(rows[1]["in"] == "");
  CHECK(Csv(report, {"comm", "tid", "function", "dso", "inlined", "self"}) ==
        "comm,tid,function,dso,inlined,self\r\n"
        "server,813,f\\x1b[1m,\"lib \"\"x\"\"\",true,3000\r\n"
        ",,,,false,0\r\n");
}

TEST_CASE("sample columns: text has estimates, shares and marks") {
  SampleRow row{.depth = 2, .inlined = true};
  row.function = "f";
  row.self = Amount(20, 1'000'000);
  SampledAmount exact = Amount(100, 1'000'000);
  exact.exact = true;
  row.total = exact;
  SampleRow none = row;
  none.self = {};
  const std::string tree =
      Text(ReportOf(SampleBy::kCallTree, {"cpu-clock:u"}, {row, none}));
  CHECK(tree.find("  ~20.0 ms  100 ms  ~10.0 % [5.0, 15.0]        50.0 %      "
                  "f (inlined)\n") != std::string::npos);
  CHECK(tree.find("\n         -  100 ms ") != std::string::npos);
  CHECK(tree.find("event") == std::string::npos);
  CHECK(tree.find(" in ") == std::string::npos);
  row.in = "a:b";
  const std::string two =
      Text(ReportOf(SampleBy::kFunction, {"cpu-clock", "x"}, {row}));
  CHECK(two.find("event ") != std::string::npos);
  CHECK(two.find(" in ") != std::string::npos);
  SampleRow data;
  data.self = Amount(4);
  CHECK(Text(ReportOf(SampleBy::kData, {"x"}, {data})).find("weight") ==
        std::string::npos);
  data.weights = 10;
  CHECK(Text(ReportOf(SampleBy::kData, {"x"}, {data})).find(" 2.5 ") !=
        std::string::npos);
}

TEST_CASE("sample columns: rows are chosen and sorted by their cells") {
  std::mt19937 random(42);
  std::vector<SampleRow> rows(200);
  for (SampleRow& row : rows) {
    row.function = std::string(1, static_cast<char>('a' + random() % 5));
    row.self = Amount(random() % 50, 1'000'000);
    row.total = Amount(random() % 50, 1'000'000);
  }
  Report report = ReportOf(SampleBy::kFunction, {"cpu-clock"}, rows);
  const auto where =
      where::ParseWhere("function =~ '[ab]' && self >= 20ms && total < 30ms");
  REQUIRE(where.ok());
  REQUIRE(where::CheckWhere(*where, report, ReportBy::kSample).ok());
  where::SortRows("total", report);
  const auto selection = where::SelectRows(*where, report);
  REQUIRE(selection.ok());
  std::uint64_t all = 0, chosen_sum = 0;
  std::string expected = "function,self,total\r\n";
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.total.value > b.total.value;
  });
  for (const SampleRow& row : rows) {
    all += row.self.value;
    if (row.function > "b" || row.self.hits < 20 || row.total.hits >= 30) {
      continue;
    }
    chosen_sum += row.self.value;
    expected += row.function + "," + std::to_string(row.self.value) + "," +
                std::to_string(row.total.value) + "\r\n";
  }
  CHECK(chosen_sum != 0);
  CHECK(Csv(report, {"function", "self", "total"}, &*selection) == expected);
  const TableSelection& selected = selection->Of(ReportBy::kSample);
  REQUIRE(selected.shares.size() == 1);
  CHECK(selected.shares[0].selected == chosen_sum);
  CHECK(selected.shares[0].total == all);
  CHECK(selected.shares[0].is_time);
  // Amounts of two events are no sum, and no time if one is a count.
  report = ReportOf(SampleBy::kFunction, {"cpu-clock", "page-faults"}, rows);
  CHECK_FALSE(where::CheckWhere(*where, report, ReportBy::kSample).ok());
  const auto counts = where::ParseWhere("self > 5k");
  REQUIRE(counts.ok());
  const auto of_two = where::SelectRows(*counts, report);
  REQUIRE(of_two.ok());
  CHECK(of_two->Of(ReportBy::kSample).shares.empty());
}

TEST_CASE("sample columns: a field of other tables is refused") {
  const Report report = ReportOf(SampleBy::kDso, {"x"}, {});
  const auto where = where::ParseWhere("pid == 1");
  REQUIRE(where.ok());
  for (const std::string& message :
       {std::string(
            where::CheckWhere(*where, report, ReportBy::kSample).message()),
        std::string(
            where::CheckOrder("pid", report, ReportBy::kSample).message())}) {
    CHECK(message.find("unknown field `pid`") != std::string::npos);
    CHECK(message.find("fields of samples: event, in, dso,") !=
          std::string::npos);
  }
  const std::string message(
      CheckColumns(report, {ReportBy::kSample}, {"total", "sefl"}).message());
  CHECK(message.find("did you mean `self`") != std::string::npos);
}

}  // namespace
}  // namespace countrace::rmap
