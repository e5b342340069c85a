// The rule files of examples/metrics give the numbers that the papers printed
// for the counts that they printed: N06, N07, N09, N10, N11 (POWER5 CPI
// analysis, listings 1 to 3 and table 3) and N19 (perfex on the R10000).
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/rmap/metrics/metric_fixture.h"

namespace countrace::rmap::metrics {
namespace {

using test_support::EventCounts;
using test_support::ReportOf;

class Rules {
 public:
  explicit Rules(const std::string& file,
                 const std::vector<std::string>& more = {}) {
    const absl::Status read = AddRuleFile(
        std::string(COUNTRACE_SOURCE "/examples/metrics/") + file, rules_);
    INFO(read.message());
    REQUIRE(read.ok());
    for (const std::string& rule : more) {
      REQUIRE(AddCommandLineRule(rule, rules_).ok());
    }
    const absl::Status checked = rules_.Check({});
    INFO(checked.message());
    REQUIRE(checked.ok());
  }

  double Of(const std::string& metric, const std::vector<NamedReport>& reports,
            Scope scope = Scope::kTrace, std::size_t row = 0) const {
    Evaluator evaluator(rules_, reports);
    const auto rule = rules_.Find(metric);
    INFO(metric);
    REQUIRE(rule.has_value());
    const MetricValue value = evaluator.Value(*rule, scope, row);
    INFO(value.absent);
    REQUIRE(value.value.has_value());
    CHECK(value.quality == Quality::kExact);
    return *value.value;
  }
  double Of(const std::string& metric, const Report& report) const {
    return Of(metric, {{"", &report}});
  }

 private:
  RuleSet rules_;
};

// Equal in the printed digits.
void CheckPrinted(double value, double printed, int digits) {
  CAPTURE(value, printed);
  CHECK(std::abs(value - printed) <= 0.5 * std::pow(10, -digits) * 1.0001);
}

Report Listing1() {
  Report report = ReportOf({{"PM_INST_DISP", 142731148496},
                            {"PM_CYC", 306273117094},
                            {"PM_INST_CMPL", 117749670719},
                            {"PM_RUN_CYC", 302936029042}});
  report.end_ns = 5'000'000'000;
  const std::vector<std::vector<std::uint64_t>> rows = {
      {4399841370, 9562151386, 3627365196, 9480160495},
      {4422613553, 9562559351, 3652180416, 9479204595},
      {4390923166, 9563162485, 3621234936, 9485237345},
      {4483370620, 9563799360, 3703301651, 9476343842}};
  for (const auto& counts : rows) {
    CpuRow cpu;
    cpu.cpu = static_cast<std::uint32_t>(report.cpu_rows.size());
    for (const std::uint64_t count : counts) cpu.counts.emplace_back(count);
    report.cpu_rows.push_back(cpu);
  }
  return report;
}

Report Listing2() {
  return ReportOf({{"PM_GCT_NOSLOT_CYC", 26489520676},
                   {"PM_GCT_NOSLOT_IC_MISS", 2543186641},
                   {"PM_GCT_NOSLOT_SRQ_FULL", 1764},
                   {"PM_GCT_NOSLOT_BR_MPRED", 14448342651},
                   {"PM_INST_CMPL", 115642620104},
                   {"PM_RUN_CYC", 302213025090}});
}

Report Listing3() {
  return ReportOf({{"PM_CMPLU_STALL_FXU", 39341080413},
                   {"PM_CMPLU_STALL_DIV", 18279140851},
                   {"PM_INST_CMPL", 117465602898},
                   {"PM_RUN_CYC", 303713892054}});
}

TEST_CASE("seeds: N06, the CPI of listing 1 and of its CPUs",
          "[rmap][metrics][seeds]") {
  const Rules rules("power5_cpi.toml");
  const Report report = Listing1();
  CheckPrinted(rules.Of("cpi", report), 2.5727, 4);
  const double printed[] = {2.6135, 2.5955, 2.6193, 2.5589};
  for (std::size_t cpu = 0; cpu < 4; ++cpu) {
    CheckPrinted(rules.Of("cpi", {{"", &report}}, Scope::kCpu, cpu),
                 printed[cpu], 4);
  }
}

TEST_CASE("seeds: N07, run latch, speculation, CPUs and frequency",
          "[rmap][metrics][seeds]") {
  const Rules rules("power5_cpi.toml",
                    {"machine = total.'PM_RUN_CYC' / 'PM_RUN_CYC'",
                     "clock = 'PM_CYC' / duration_ns"});
  const Report report = Listing1();
  CheckPrinted(rules.Of("run_latch_share", report) / 100, 0.98910, 5);
  CheckPrinted(rules.Of("speculation", report), 1.21216, 5);
  CheckPrinted(rules.Of("machine", {{"", &report}}, Scope::kCpu, 0), 32.0, 1);
  // A metric without a unit is shown per second.
  CheckPrinted(rules.Of("clock", {{"", &report}}, Scope::kCpu, 0) / 1e9, 1.912,
               3);
}

TEST_CASE("seeds: N09, completion table empty, listing 2",
          "[rmap][metrics][seeds]") {
  const Rules rules("power5_cpi.toml");
  const Report report = Listing2();
  CheckPrinted(rules.Of("icache_share", report) / 100, 0.0084152, 7);
  CheckPrinted(rules.Of("mispredict_share", report) / 100, 0.0478085, 7);
  CheckPrinted(rules.Of("gct_share", report) / 100, 0.0876518, 7);
  CheckPrinted(rules.Of("gct_other_share", report), 3.14, 2);
  CheckPrinted(rules.Of("cpi", report), 2.6133, 4);
  CheckPrinted(rules.Of("cpi_icache", report), 0.0220, 4);
  CheckPrinted(rules.Of("cpi_mispredict", report), 0.1249, 4);
  CheckPrinted(rules.Of("cpi_gct", report), 0.2291, 4);
  CheckPrinted(rules.Of("cpi_gct_other", report), 0.0821, 4);
}

TEST_CASE("seeds: N10, fixed point, listing 3", "[rmap][metrics][seeds]") {
  const Rules rules("power5_cpi.toml");
  const Report report = Listing3();
  CheckPrinted(rules.Of("fxu_share", report) / 100, 0.129533, 6);
  CheckPrinted(rules.Of("div_share", report) / 100, 0.060185, 6);
  CheckPrinted(rules.Of("fxu_basic_share", report) / 100, 0.069348, 6);
  CheckPrinted(rules.Of("cpi", report), 2.5856, 4);
  CheckPrinted(rules.Of("cpi_fxu", report), 0.3349, 4);
  CheckPrinted(rules.Of("cpi_div", report), 0.1556, 4);
  CheckPrinted(rules.Of("cpi_fxu_basic", report), 0.1793, 4);
}

TEST_CASE("seeds: N11, one table from sets of different recordings",
          "[rmap][metrics][seeds]") {
  // Shares of listings 2 and 3 beside the CPI of listing 1, as in table 3.
  const Rules joined("power5_cpi.toml",
                     {"part_icache = cpi * @gct.icache_share",
                      "part_mispredict = cpi * @gct.mispredict_share",
                      "part_other = cpi * @gct.gct_other_share",
                      "part_div = cpi * @fxu.div_share",
                      "part_fxu_basic = cpi * @fxu.fxu_basic_share"});
  const Report one = Listing1(), two = Listing2(), three = Listing3();
  const std::vector<NamedReport> reports = {
      {"", &one}, {"gct", &two}, {"fxu", &three}};
  CheckPrinted(joined.Of("part_icache", reports), 0.02, 2);
  CheckPrinted(joined.Of("part_mispredict", reports), 0.12, 2);
  CheckPrinted(joined.Of("part_other", reports), 0.08, 2);
  // Table 3 prints 0.16 for 0.15484: it used the CPI of the set, 2.5856.
  CheckPrinted(joined.Of("part_div", reports), 0.15, 2);
  CheckPrinted(joined.Of("part_fxu_basic", reports), 0.18, 2);

  // The whole table: counts of 10,000 cycles with its measured percentages. Its
  // leaves add up to 99.99; "other stalls" is the rest, so it gets the
  // hundredth that rounding removed.
  const Rules rules("power5_cpi.toml",
                    {"leaves = base_share + cracking_share + icache_share + "
                     "mispredict_share + gct_other_share + erat_share + "
                     "other_reject_share + dcache_share + lsu_basic_share + "
                     "div_share + fxu_basic_share + fdiv_share + "
                     "fpu_basic_share + other_stall_share"});
  const Report table = ReportOf({{"PM_RUN_CYC", 10000},
                                 {"PM_INST_CMPL", 3887},
                                 {"PM_GRP_CMPL", 1400},
                                 {"PM_PPC_CMPL", 777},
                                 {"PM_GCT_NOSLOT_CYC", 876},
                                 {"PM_GCT_NOSLOT_IC_MISS", 84},
                                 {"PM_GCT_NOSLOT_BR_MPRED", 478},
                                 {"PM_CMPLU_STALL_LSU", 4876},
                                 {"PM_CMPLU_STALL_REJECT", 503},
                                 {"PM_CMPLU_STALL_ERAT_MISS", 128},
                                 {"PM_CMPLU_STALL_DCACHE_MISS", 3423},
                                 {"PM_CMPLU_STALL_FXU", 1295},
                                 {"PM_CMPLU_STALL_DIV", 602},
                                 {"PM_CMPLU_STALL_FPU", 213},
                                 {"PM_CMPLU_STALL_FDIV", 3}});
  const std::pair<const char*, double> printed[] = {
      {"base_share", 7.77},         {"cracking_share", 6.23},
      {"completion_share", 14.00},  {"gct_share", 8.76},
      {"gct_other_share", 3.14},    {"lsu_share", 48.76},
      {"other_reject_share", 3.75}, {"lsu_basic_share", 9.50},
      {"fxu_share", 12.95},         {"fxu_basic_share", 6.93},
      {"fpu_share", 2.13},          {"fpu_basic_share", 2.10}};
  for (const auto& [metric, value] : printed) {
    CAPTURE(metric);
    CheckPrinted(rules.Of(metric, table), value, 2);
  }
  CheckPrinted(rules.Of("stall_share", table), 77.23 + 0.01, 2);
  CheckPrinted(rules.Of("other_stall_share", table), 13.39 + 0.01, 2);
  CheckPrinted(rules.Of("cpi", table), 2.57, 2);
  CHECK(rules.Of("leaves", table) == Approx(1));
  CHECK(rules.Of("cpi_lsu", table) == Approx(1.2544).epsilon(1e-3));
}

TEST_CASE("seeds: N19, perfex's derived numbers", "[rmap][metrics][seeds]") {
  const Rules rules("r10000.toml");
  EventCounts counts = {{"Cycles", 7945053664},
                        {"Issued instructions", 11008061056},
                        {"Decoded branches", 888399408},
                        {"External interventions", 198528},
                        {"External invalidations", 91472},
                        {"Graduated instructions", 8975754960},
                        {"Graduated loads", 2421679696},
                        {"Graduated stores", 433456128},
                        {"Graduated floating point instructions", 3132175344},
                        {"Mispredicted branches", 128178704},
                        {"Primary data cache misses", 25746192},
                        {"Secondary data cache misses", 236000},
                        {"External intervention hits in scache", 198064},
                        {"External invalidation hits in scache", 90880}};
  const Report report = ReportOf(counts);
  CheckPrinted(rules.Of("r10k_ipc", report), 1.1297, 4);
  CheckPrinted(rules.Of("r10k_speculation", report), 1.2264, 4);
  CheckPrinted(rules.Of("r10k_mispredict", report), 14.43, 2);
  CheckPrinted(rules.Of("r10k_l1d_miss", report), 0.902, 3);
  CheckPrinted(rules.Of("r10k_l2_miss", report), 0.917, 3);
  CheckPrinted(rules.Of("r10k_l1_reuse", report), 109.9, 1);
  CheckPrinted(rules.Of("r10k_l2_reuse", report), 108.1, 1);
  CheckPrinted(rules.Of("r10k_fp_per_cycle", report), 0.394, 3);
  CheckPrinted(rules.Of("r10k_time", report), 40.74, 2);
  CheckPrinted(rules.Of("r10k_intervention_hits", report), 99.77, 2);
  CheckPrinted(rules.Of("r10k_invalidation_hits", report), 99.35, 2);
  // The same event on the other counter.
  counts[5].second = 8847468640;
  CheckPrinted(rules.Of("r10k_ipc", ReportOf(counts)), 1.1136, 4);
}

}  // namespace
}  // namespace countrace::rmap::metrics
