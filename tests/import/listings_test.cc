// Listings of counts: what they say comes out of the trace, and what is wrong
// in them has its line and both numbers.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "logformat/import/listing/listing.h"

namespace countrace::importer {
namespace {

std::string TextOf(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(COUNTRACE_LISTINGS "/" + file).rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

std::string Replaced(std::string text, const std::string& from,
                     const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  const auto listing = ParseListing(text, "x.txt");
  REQUIRE_FALSE(listing.ok());
  CHECK(listing.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(listing.status().message());
}

Listing Parsed(const std::string& file) {
  auto listing = ParseListing(TextOf(file), file);
  INFO(listing.status().message());
  REQUIRE(listing.ok());
  return *std::move(listing);
}

TEST_CASE("pmcount: rows that are not listed are one row, [ALL] less the rest",
          "[import][listing]") {
  const Listing listing = Parsed("power5-group0.txt");
  CHECK(listing.command == "pmcount -kun -G 0 sleep 5");
  CHECK(listing.events ==
        std::vector<std::string>{"PM_RUN_CYC.PMC1", "PM_INST_CMPL.PMC2",
                                 "PM_INST_DISP", "PM_CYC", "PM_INST_CMPL",
                                 "PM_RUN_CYC"});
  REQUIRE(listing.rows.size() == 5);
  CHECK(listing.has_not_listed);
  std::uint64_t cycles = 0;
  for (const auto& row : listing.rows) cycles += row.counts[5];
  CHECK(cycles == 302936029042);
  // The read skew of a dump: PMC 5 less PMC 2, the same event (N08).
  CHECK(listing.rows[2].counts[4] - listing.rows[2].counts[1] == 137);
}

TEST_CASE("pmcount: errata are read, and named", "[import][listing]") {
  const Listing made = Parsed("made-group28.txt");
  CHECK(made.events[0] == "PM_CMPLU_STALL_LSU");
  const auto names = [&](const Listing& listing, const char* what) {
    return std::any_of(listing.not_known.begin(), listing.not_known.end(),
                       [&](const std::string& note) {
                         return note.find(what) != std::string::npos;
                       });
  };
  CHECK(names(made, "PM_CMPL_STALL_LSU of counter 2"));
  CHECK(names(Parsed("power5-group5.txt"), "MMCR1 stands twice"));
  const std::string typo =
      Replaced(TextOf("power5-group5.txt"), "PM_GCT_NOSLOT_IC_MISS",
               "PM_GCT_EPMTY_IC_MISS");
  CHECK(ParseListing(typo, "x")->events[1] == "PM_GCT_NOSLOT_IC_MISS");
}

TEST_CASE("pmcount: a listing that does not add up has line and both numbers",
          "[import][listing]") {
  const std::string text = TextOf("power5-group5.txt");
  CHECK(ErrorOf(Replaced(text, ".\n.\n.\n", "")) ==
        "x.txt:24:1: column PMC 1 (PM_GCT_NOSLOT_CYC) of [ALL] is "
        "26489520676, its rows add up to 3275610886; a line with . stands for "
        "rows left out");
  CHECK(ErrorOf(Replaced(text, "[ALL] 26489520676", "[ALL] 5")) ==
        "x.txt:27:1: column PMC 1 (PM_GCT_NOSLOT_CYC) of [ALL] is 5, its rows "
        "add up to 3275610886");
  CHECK(ErrorOf(Replaced(text, "812182509", "18446744073709551615"))
            .starts_with("x.txt:27:1: column PMC 1 (PM_GCT_NOSLOT_CYC) of "
                         "[ALL] is 26489520676, its rows add up to 2^64 + "));
  CHECK(ErrorOf(Replaced(text, " 9448261358", "")) ==
        "x.txt:20:1: 5 counts, and 6 counters above");
  CHECK(ErrorOf(Replaced(text, "[ 1]", "[ 0]")) ==
        "x.txt:21:1: `0` is no CPU from 1 to 16383");
  CHECK(ErrorOf(text + text) ==
        "x.txt:29:1: a second listing begins: a trace is of one; split the "
        "file");
  CHECK(ErrorOf("pmcount -x\n") ==
        "x.txt:1:1: there is no row [ALL] with the "
        "sums");
  CHECK(ErrorOf(text + std::string(70000, ' '))
            .find(" bytes around the rows, more than 65536") !=
        std::string::npos);
  CHECK(ErrorOf(Replaced(text, "Counter 2,", "Counter 1,")) ==
        "x.txt:12:1: counter 1, wanted 2 to 16");
}

TEST_CASE("pmcount: what is out of place is no listing", "[import][listing]") {
  CHECK(ErrorOf("pmcount -k\nCounter 1, event 1: A\n[ 0] 1\n"
                "Counter 2, event 2: B\n[ALL] 1 2\n") ==
        "x.txt:4:1: a counter behind the rows");
  CHECK(ErrorOf("pmcount -k\nCounter 1, event 1: A\n[ALL] 0\n") ==
        "x.txt:3:1: there is no row of a CPU");
  // Lines of rows left out are kept, too.
  const std::string text = TextOf("power5-group5.txt");
  std::string dots;
  for (int i = 0; i < 40000; ++i) dots += ".\n";
  CHECK(ErrorOf(Replaced(text, ".\n.\n.\n", dots))
            .find(" bytes around the rows, more than 65536") !=
        std::string::npos);
}

TEST_CASE("perf stat: means of runs and second metrics are read",
          "[import][listing]") {
  const auto listing = ParseListing(
      "1000,,cycles,0.52%,999,100.00,,\n"
      ",,,,,0.13,stalled cycles per insn\n"
      "500,,instructions,0.10%,999,100.00,0.50,insn per cycle\n",
      "x.txt");
  INFO(listing.status().message());
  REQUIRE(listing.ok());
  CHECK(listing->events == std::vector<std::string>{"cycles", "instructions"});
  const auto& notes = listing->not_known;
  const auto says = [&](const char* what) {
    return std::any_of(notes.begin(), notes.end(), [&](const auto& note) {
      return note.find(what) != std::string::npos;
    });
  };
  CHECK(says("the means of several (-r)"));
  CHECK(says("how long it took"));
  CHECK(ErrorOf("1,,cycles,18446744073709551615,100.00,,\n") ==
        "x.txt:1:1: 18446744073709551615 ns of running, more than "
        "1000000000000000000");
}

TEST_CASE("perf stat: counts of a command, of CPUs, of intervals",
          "[import][listing]") {
  const Listing command = Parsed("perf-stat.csv");
  CHECK(command.events ==
        std::vector<std::string>{"task-clock", "page-faults", "cs"});
  REQUIRE(command.rows.size() == 1);
  // The clock's own ns, not the 0.66 msec that is printed.
  CHECK(command.rows[0].counts == std::vector<std::uint64_t>{658668, 52, 0});
  CHECK(command.not_known.front() ==
        "counts of `cycles`: perf printed <not supported>");

  const Listing cpus = Parsed("perf-stat-cpus.csv");
  REQUIRE(cpus.rows.size() == 2);
  CHECK(cpus.rows[1].counts == std::vector<std::uint64_t>{117461480, 3800, 76});

  const Listing intervals = Parsed("perf-stat-intervals.csv");
  REQUIRE(intervals.rows.size() == 2);
  CHECK(intervals.rows[0].time_ns == 50104659);
  CHECK(intervals.rows[1].time_ns == 124095125);
  CHECK(intervals.rows[1].counts == std::vector<std::uint64_t>{807891, 77});
}

TEST_CASE("perf stat: what cannot be a trace is refused with its line",
          "[import][listing]") {
  CHECK(ErrorOf("S0,2,1960,,page-faults,183066896,100.00,,\n") ==
        "x.txt:1:1: counts of S0; a trace has those of CPUs: `perf stat -A "
        "-x,`, or without options that group them");
  CHECK(ErrorOf("52,,page-faults,658668,100.00,,\nx\n") ==
        "x.txt:2:1: wanted VALUE,UNIT,EVENT,RUN_NS,PERCENT,... of `perf stat "
        "-x,`");
  CHECK(ErrorOf("1.5,Joules,power/energy-pkg/,658668,100.00,,\n") ==
        "x.txt:1:1: `1.5` Joules of `power/energy-pkg/` is no count");
  std::string many;
  for (int i = 0; i <= 24; ++i) {
    many += "1,,event" + std::to_string(i) + ",5,100.00,,\n";
  }
  CHECK(
      ErrorOf(many).starts_with("x.txt:25:1: `event24` is more than the 24 "));
  const auto event =
      ParseListing("7,,cpu/event=0x3c,umask=0x0/,658668,50.00,,\n", "x.txt");
  REQUIRE(event.ok());
  CHECK(event->events.front() == "cpu/event=0x3c,umask=0x0/");
  CHECK(event->not_known.front().starts_with("how exact the counts of "));
}

TEST_CASE("likwid: the table of raw counts, a column for each CPU",
          "[import][listing]") {
  const Listing listing = Parsed("likwid.csv");
  CHECK(listing.events.size() == 5);
  REQUIRE(listing.rows.size() == 2);
  CHECK(listing.rows[1].counts[0] == 956120);
  const std::string text = TextOf("likwid.csv");
  CHECK(ErrorOf(text + text) ==
        "x.txt:22:1: a second table of counts begins: a trace is of one; split "
        "the file");
  CHECK(ErrorOf(Replaced(text, "1230458,956120", "1230458")) ==
        "x.txt:7:1: 1 columns, and 2 CPUs above");
}

}  // namespace
}  // namespace countrace::importer
