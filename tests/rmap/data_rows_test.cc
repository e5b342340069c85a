// What data addresses belong to, against areas that are known; and what a PMU
// says of an access, against the kernel's constants.
#include "rmap/samples/rows/data_rows.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "logformat/sample_points.h"
#include "rmap/samples/rows/data_source.h"
#include "rmap/samples/sums/sample_sums.h"

namespace countrace::rmap {
namespace {

using logformat::SampleData;
using logformat::SamplePoint;

constexpr std::uint32_t kFirst = logformat::kHookIdKernelMin;
enum Point : std::uint32_t { kFaults, kLoads, kClock, kFile, kArea };

logformat::TraceInfo InfoWithPoints() {
  logformat::TraceInfo info;
  const auto add = [&](SamplePoint point, const char* name, SampleData data) {
    info.hooks.push_back(
        logformat::DescribeSamplePoint(point, name, "every 10", data));
    info.hooks.back().id =
        kFirst + static_cast<std::uint32_t>(info.hooks.size()) - 1;
  };
  add(SamplePoint::kSample, "page-faults", SampleData::kAddress);
  add(SamplePoint::kSample, "cpu/mem-loads/", SampleData::kSource);
  add(SamplePoint::kSample, "cpu-clock", SampleData::kNone);
  add(SamplePoint::kFile, "", SampleData::kNone);
  add(SamplePoint::kArea, "", SampleData::kNone);
  return info;
}

logformat::EventRecord RecordOf(Point point,
                                const std::vector<std::uint64_t>& numbers,
                                const std::vector<std::string>& texts,
                                std::vector<std::byte>& bytes) {
  bytes.assign(8, std::byte{0});
  const auto body = logformat::SampleRecordBody(0, numbers, texts);
  bytes.insert(bytes.end(), body.begin(), body.end());
  logformat::EventRecord record{};
  record.event_id = static_cast<std::uint16_t>((kFirst + point) * 2);
  record.bytes = bytes;
  return record;
}

// Feeds a trace of the process "server" 812, and makes its table.
class Trace {
 public:
  explicit Trace(DataDetail detail)
      : detail_(detail), sums_(InfoWithPoints(), 0, detail) {}

  void File(std::uint64_t number, const std::string& path) {
    std::vector<std::byte> bytes;
    sums_.Define(RecordOf(kFile, {number}, {"-", path}, bytes));
  }
  void Area(const std::vector<std::uint64_t>& numbers) {
    std::vector<std::byte> bytes;
    sums_.Define(RecordOf(kArea, numbers, {}, bytes));
  }
  void Sample(Point point, const std::vector<std::uint64_t>& numbers) {
    std::vector<std::byte> bytes;
    sums_.Add(RecordOf(point, numbers, {}, bytes), {});
  }
  SampleTable Table() const {
    Report report;
    ProcessRow process;
    process.comm = "server";
    process.pid = 812;
    report.processes.push_back(process);
    report.samples = std::make_shared<const Samples>(sums_.Take());
    return MakeDataTable(report, InfoWithPoints(), detail_);
  }

 private:
  const DataDetail detail_;
  SampleSums sums_;
};

// Hits by "data of dso".
std::map<std::string, std::uint64_t> Hits(const SampleTable& table) {
  std::map<std::string, std::uint64_t> hits;
  for (const SampleRow& row : table.rows) {
    hits[row.data + "|" + row.of + "|" + row.dso] += row.self.hits;
  }
  return hits;
}

// A global object of this program, with a size that no other one has.
std::uint8_t known_object[12'345] = {1};

std::string OwnPath() {
  std::string path(4096, '\0');
  const ssize_t bytes = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  return path;
}

TEST_CASE("data rows: buckets of memory, and shares of all samples") {
  Trace trace(DataDetail::kObject);
  trace.File(1, "[heap]");
  trace.File(2, "[stack]");
  trace.File(3, "[anon]");
  trace.File(4, "[unknown]");
  trace.File(5, "[kernel]");
  trace.File(6, "/dev/zero (deleted)");
  trace.Area({1, 1, 0x5000, 0x1000, 0x5000, 0});
  trace.Area({2, 1, 0x5000, 0x9000, 0x5000, 0});  // it has grown
  trace.Area({3, 2, 0x9000, 0x1000, 0x9000, 0});
  trace.Area({4, 2, 0x19000, 0x1000, 0x19000, 900});
  // One memory that grew downwards, and another one.
  trace.Area({5, 3, 0x40000, 0x1000, 0x40000, 0});
  trace.Area({6, 3, 0x3f000, 0x2000, 0x3f000, 0});
  trace.Area({7, 3, 0x41000, 0x1000, 0x41000, 0});
  trace.Area({8, 4, 0, 0, 0, 0});
  trace.Area({9, 5, 0, 0, 0, 0});
  const auto hit = [&](std::uint64_t area, std::uint64_t address, int times) {
    for (int i = 0; i < times; ++i) {
      trace.Sample(kFaults,
                   {10, 0, area, address + 8u * static_cast<unsigned>(i)});
    }
  };
  hit(1, 0x5010, 3);
  hit(2, 0x6010, 4);
  hit(3, 0x9010, 5);
  hit(4, 0x19010, 6);
  hit(5, 0x40010, 7);
  hit(6, 0x3f010, 1);
  hit(7, 0x41010, 2);
  hit(8, 0x77010, 9);
  hit(9, ~0xfffull, 10);
  hit(0, 0, 11);
  hit(99, 0x123, 12);  // the area's record is lost
  const SampleTable table = trace.Table();
  CHECK(Hits(table) == std::map<std::string, std::uint64_t>{
                           {"[heap]||", 7},
                           {"[stack]|server 812|", 5},
                           {"[stack]|server 900|", 6},
                           {"[anon] 3f000-41000|server 812|", 8},
                           {"[anon] 41000-42000|server 812|", 2},
                           {"[unknown]||", 9 + 12},
                           {"[kernel]||", 10},
                           {"[no address]||", 11}});
  double all = 0;
  for (const SampleRow& row : table.rows) {
    CHECK(row.self.value == row.self.hits * 10);
    CHECK(row.self.share_lo <= row.self.share);
    CHECK(row.self.share <= row.self.share_hi);
    all += row.self.share;
  }
  CHECK(all == Approx(1));
}

TEST_CASE("data rows: objects, code and other data of a program's file") {
  const std::string path = OwnPath();
  // Where the object lies in the file: as this process has it mapped.
  std::uint64_t start = 0, offset = 0;
  const auto object = reinterpret_cast<std::uint64_t>(known_object);
  const auto code = reinterpret_cast<std::uint64_t>(&OwnPath);
  std::uint64_t code_start = 0, code_offset = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  REQUIRE(maps != nullptr);
  char line[8192];
  while (fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long long from = 0, to = 0, at = 0;
    if (sscanf(line, "%llx-%llx %*s %llx", &from, &to, &at) != 3) continue;
    if (object >= from && object < to) start = from, offset = at;
    if (code >= from && code < to) code_start = from, code_offset = at;
  }
  fclose(maps);
  REQUIRE(start != 0);
  Trace trace(DataDetail::kObject);
  trace.File(1, path);
  trace.File(2, "/etc/passwd");
  trace.File(3, "/no such file");
  trace.Area({1, 1, start, 0x100000, offset, 0});
  trace.Area({2, 1, code_start, 0x100000, code_offset, 0});
  trace.Area({3, 2, 0x1000, 0x1000, 0, 0});
  trace.Area({4, 3, 0x1000, 0x1000, 0, 0});
  trace.Sample(kFaults, {10, 0, 1, object});
  trace.Sample(kFaults, {10, 0, 1, object + sizeof(known_object) - 1});
  trace.Sample(kFaults, {10, 0, 2, code});
  trace.Sample(kFaults, {10, 0, 3, 0x1010});
  trace.Sample(kFaults, {10, 0, 4, 0x1010});
  const SampleTable table = trace.Table();
  const std::string name = path.substr(path.rfind('/') + 1);
  CHECK(
      Hits(table) ==
      std::map<std::string, std::uint64_t>{
          {"countrace::rmap::(anonymous namespace)::known_object||" + name, 2},
          {"[code]||" + name, 1},
          {"[file]||passwd", 1},
          {"[no symbol]||no such file", 1}});
  CHECK(table.messages.size() == 1);  // of the file that is not there
}

TEST_CASE("data rows: pages and addresses are of a process") {
  for (const auto& [detail, rows] : {std::pair{DataDetail::kPage, 2u},
                                     std::pair{DataDetail::kAddress, 3u}}) {
    Trace trace(detail);
    trace.File(1, "[heap]");
    trace.Area({1, 1, 0x5000, 0x9000, 0x5000, 0});
    for (const std::uint64_t address : {0x5010, 0x5018, 0x6000}) {
      trace.Sample(kFaults, {10, 0, 1, address});
    }
    const SampleTable table = trace.Table();
    REQUIRE(table.rows.size() == rows);
    for (const SampleRow& row : table.rows) CHECK(row.of == "server 812");
    CHECK(std::any_of(
        table.rows.begin(), table.rows.end(),
        [](const SampleRow& row) { return row.address == 0x6000; }));
  }
}

TEST_CASE("data rows: samples without data are in no row") {
  Trace trace(DataDetail::kObject);
  trace.Sample(kClock, {10, 0});
  CHECK(trace.Table().rows.empty());
}

std::uint64_t Source(std::uint64_t operation, std::uint64_t level,
                     std::uint64_t snoop, std::uint64_t tlb,
                     std::uint64_t lock) {
  return operation << PERF_MEM_OP_SHIFT | level << PERF_MEM_LVL_SHIFT |
         snoop << PERF_MEM_SNOOP_SHIFT | tlb << PERF_MEM_TLB_SHIFT |
         lock << PERF_MEM_LOCK_SHIFT;
}

TEST_CASE("data rows: by source, with their weights") {
  Trace trace(DataDetail::kSource);
  trace.File(1, "[heap]");
  trace.Area({1, 1, 0x5000, 0x9000, 0x5000, 0});
  const std::uint64_t load =
      Source(PERF_MEM_OP_LOAD, PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1, 0, 0, 0);
  const std::uint64_t store =
      Source(PERF_MEM_OP_STORE, PERF_MEM_LVL_MISS | PERF_MEM_LVL_L1, 0, 0, 0);
  trace.Sample(kLoads, {10, 0, 1, 0x5010, load, 4});
  trace.Sample(kLoads, {10, 0, 1, 0x6010, load, 7});
  trace.Sample(kLoads, {10, 0, 1, 0x5010, store, 0});
  const SampleTable table = trace.Table();
  REQUIRE(table.rows.size() == 2);
  CHECK(DecodeDataSource(table.rows[0].data_source).access == "load");
  CHECK(DecodeDataSource(table.rows[0].data_source).memory == "L1 hit");
  CHECK(table.rows[0].self.hits == 2);
  CHECK(table.rows[0].weights == 11);
  CHECK(DecodeDataSource(table.rows[1].data_source).access == "store");
  CHECK(DecodeDataSource(table.rows[1].data_source).memory == "L1 miss");
}

TEST_CASE("data source: what the kernel's constants mean") {
  const DataSource remote = DecodeDataSource(Source(
      PERF_MEM_OP_LOAD, PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_CCE1,
      PERF_MEM_SNOOP_HITM, PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1 | PERF_MEM_TLB_L2,
      PERF_MEM_LOCK_LOCKED));
  CHECK(remote.access == "load");
  CHECK(remote.memory == "remote cache (1 hop) hit");
  CHECK(remote.snoop == "HitM");
  CHECK(remote.tlb == "L1 or L2 hit");
  CHECK(remote.locked == "yes");
  // The newer fields.
  const DataSource ram = DecodeDataSource(
      Source(PERF_MEM_OP_STORE, PERF_MEM_LVL_MISS, PERF_MEM_SNOOP_NONE,
             PERF_MEM_TLB_MISS | PERF_MEM_TLB_WK, 0) |
      std::uint64_t{PERF_MEM_LVLNUM_RAM} << PERF_MEM_LVLNUM_SHIFT |
      std::uint64_t{PERF_MEM_REMOTE_REMOTE} << PERF_MEM_REMOTE_SHIFT |
      std::uint64_t{PERF_MEM_SNOOPX_FWD} << PERF_MEM_SNOOPX_SHIFT |
      std::uint64_t{PERF_MEM_HOPS_2} << PERF_MEM_HOPS_SHIFT);
  CHECK(ram.access == "store");
  CHECK(ram.memory == "remote RAM miss, other socket");
  CHECK(ram.snoop == "none, forwarded");
  CHECK(ram.tlb == "walker miss");
  CHECK(ram.locked == "no");
  // PERF_MEM_NA of the kernel: an event that does not say.
  const DataSource none = DecodeDataSource(
      Source(PERF_MEM_OP_NA, PERF_MEM_LVL_NA, PERF_MEM_SNOOP_NA,
             PERF_MEM_TLB_NA, PERF_MEM_LOCK_NA) |
      std::uint64_t{PERF_MEM_LVLNUM_NA} << PERF_MEM_LVLNUM_SHIFT);
  for (const std::string& text :
       {none.access, none.memory, none.snoop, none.tlb, none.locked}) {
    CHECK(text == "-");
  }
}

}  // namespace
}  // namespace countrace::rmap
