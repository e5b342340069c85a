// What is doubtful in counts: sums, and the messages that name them.
#include "rmap/counters/counter_doubts.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "rmap/counters/counter_extension.h"

namespace countrace::rmap {
namespace {

using logformat::EventRecord;

TEST_CASE("counter doubts: intervals are added up, the longest is named",
          "[rmap]") {
  CounterDoubts doubts;
  CHECK_FALSE(doubts.any());
  CHECK(doubts.Messages({"cycles"}, {}).empty());
  doubts.Add(DoubtReason::kOtherMmcr, 1, {3, -1, 1000, 3000, 7, 8});
  // The first of the longest ones is named.
  doubts.Add(DoubtReason::kOtherMmcr, 1, {-1, 70, 5000, 10000, 8, 9});
  doubts.Add(DoubtReason::kOtherMmcr, 1, {4, -1, 20000, 25000, 9, 7});
  doubts.Add(DoubtReason::kOtherMmcr, 1, {5, -1, 30000, 30001, 9, 7});
  CHECK(doubts.any());
  const DoubtSum sum = doubts.Of(DoubtReason::kOtherMmcr, 1);
  CHECK(sum.intervals == 4);
  CHECK(sum.ns == 12001);
  CHECK(sum.longest.tid == 70);
  CHECK(doubts.Of(DoubtReason::kOtherMmcr, 0).intervals == 0);
  CHECK(doubts.Of(DoubtReason::kWrapped, 1).intervals == 0);
  const std::vector<std::string> messages =
      doubts.Messages({"cycles", "loads"}, {});
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].find("loads: the MMCR changed in 4 intervals (the longest "
                         "from 8 to 9 on tid 70 from 5000 to 10000 ns)") == 0);
  CHECK(messages[0].find("in those 0.0000 s is") != std::string::npos);
}

TEST_CASE("counter doubts: each message has the numbers of its counter",
          "[rmap]") {
  CounterDoubts doubts;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  doubts.Add(DoubtReason::kWrapped, 0, {2, -1, kSecond, 101 * kSecond, 5, 6});
  doubts.Add(DoubtReason::kWentBack, 1, {-1, 9, 10, 10 + kSecond, 500, 400});
  doubts.Add(DoubtReason::kWentBack, 2, {0, -1, 10, 30, 5, 4});
  doubts.Add(DoubtReason::kWrapped, 2, {0, -1, 40, 60, 5, 4});
  const std::vector<std::string> messages =
      doubts.Messages({"a", "b", "c"}, {{32, 66'000'000}, {16, 10}});
  REQUIRE(messages.size() == 4);
  CHECK(messages[0].find("a: 1 intervals between two dumps, 100.0000 s "
                         "together, are longer than the 65.0753 s in which a "
                         "counter of 32 bits can wrap at 66000000/s (the "
                         "longest, 100.0000 s, on cpu 2 from 1000000000 to "
                         "101000000000 ns)") == 0);
  CHECK(messages[1].find("b: its counter went from 500 to 400 on tid 9 from 10 "
                         "to 1000000010 ns, which a counter of 16 bits and "
                         "10/s cannot: ") == 0);
  CHECK(messages[1].find("in 1 such intervals, 1.0000 s together") !=
        std::string::npos);
  CHECK(messages[2].find("c: its counter of 64 bits began again at 0 in 1 "
                         "intervals, 0.0000 s together (the longest on cpu 0 "
                         "from 40 to 60 ns)") == 0);
  CHECK(messages[3].find("c: its counter went from 5 to 4 on cpu 0 from 10 to "
                         "30 ns: ") == 0);
}

// A dump of one counter of 16 bits.
class NarrowCounter {
 public:
  explicit NarrowCounter(std::uint32_t rotating = 0)
      : extension_({{16, 0}, {16, 0}}, 2, MeasureSet(rotating)) {}

  // Returns the extended value; 0 bits are doubtful unless `doubted` says.
  std::uint64_t Of(EventRecord record, std::uint64_t value,
                   std::uint64_t time_ns) {
    const std::uint64_t values[] = {value, value};
    record.counters = values;
    if (record.present == 0) record.present = 3;
    const MeasureSet present(record.present);
    return extension_.Extend(record, present, time_ns, true).counters[0];
  }
  std::uint64_t OfCpu(std::int32_t cpu, std::uint64_t value,
                      std::uint64_t time_ns, std::uint32_t mmcr = 0,
                      std::uint32_t present = 3) {
    EventRecord record{};
    record.stream_class = logformat::StreamClass::kCpu;
    record.cpu = cpu;
    record.mmcr = mmcr;
    record.present = present;
    return Of(record, value, time_ns);
  }
  std::uint64_t OfThread(std::uint32_t stream, std::int32_t pid,
                         std::int32_t tid, std::uint64_t value,
                         std::uint64_t time_ns) {
    EventRecord record{};
    record.stream_class = logformat::StreamClass::kThread;
    record.stream = stream;
    record.cpu = -1;
    record.pid = pid;
    record.tid = tid;
    return Of(record, value, time_ns);
  }
  CounterExtension& extension() { return extension_; }

 private:
  CounterExtension extension_;
};

TEST_CASE("counter extension: each CPU and each thread counts on its own",
          "[rmap]") {
  NarrowCounter counter;
  CHECK(counter.OfCpu(1, 100, 10) == 0);
  CHECK(counter.OfCpu(0, 60000, 20) == 0);
  CHECK(counter.OfCpu(1, 150, 30) == 50);
  CHECK(counter.OfCpu(0, 60010, 40) == 10);
  CHECK(counter.extension().doubted().empty());
  CHECK(counter.OfCpu(0, 5, 50) == 10 + 5531);
  CHECK(counter.extension().doubted() == MeasureSet(3));
  CHECK(counter.extension().doubts().Of(DoubtReason::kWrapped, 0).ns == 10);
  CHECK(counter.OfCpu(1, 160, 60) == 60);

  // A stream that has another thread now, of the same process or with the same
  // tid, begins anew.
  CHECK(counter.OfThread(3, 50, 51, 1000, 70) == 0);
  CHECK(counter.OfThread(3, 50, 51, 1007, 80) == 7);
  CHECK(counter.OfThread(3, 50, 52, 2000, 90) == 0);
  CHECK(counter.OfThread(3, 50, 52, 2001, 100) == 1);
  CHECK(counter.OfThread(3, 60, 52, 3000, 110) == 0);
  CHECK(counter.OfThread(0, 50, 51, 9, 120) == 0);
  CHECK(counter.OfThread(3, 60, 52, 3004, 130) == 4);

  // A CPU that comes back begins anew, and keeps what it had.
  counter.extension().Restart(1);
  counter.extension().Restart(-1);
  counter.extension().Restart(7);
  CHECK(counter.OfCpu(1, 3, 140) == 60);
  CHECK(counter.extension().doubted().empty());
  CHECK(counter.OfCpu(1, 4, 150) == 61);
  CHECK(counter.OfCpu(-1, 4, 160) == 4);
}

TEST_CASE("counter extension: no delta reaches over a change of the event set",
          "[rmap]") {
  NarrowCounter fixed, rotating(/*rotating=*/1);
  for (NarrowCounter* counter : {&fixed, &rotating}) {
    CHECK(counter->OfCpu(0, 1000, 10, /*mmcr=*/0) == 0);
    CHECK(counter->OfCpu(0, 1010, 20, /*mmcr=*/0) == 10);
    // A smaller value of another set is no wrap.
    CHECK(counter->OfCpu(0, 500, 30, /*mmcr=*/1) == 10);
    CHECK(counter->extension().doubted() ==
          MeasureSet(counter == &fixed ? 0 : 2));
    CHECK(counter->OfCpu(0, 505, 40, /*mmcr=*/1) == 15);
  }
  // The multiplexed counter was absent in between, the other one was not.
  CHECK(rotating.OfCpu(0, 506, 50, /*mmcr=*/1, /*present=*/2) == 15);
  CHECK(rotating.OfCpu(0, 300, 60, /*mmcr=*/1) == 15);
  CHECK(rotating.extension().doubted() == MeasureSet(2));
  CHECK(rotating.OfCpu(0, 301, 70, /*mmcr=*/1) == 16);
  // One that is always counted goes on.
  CHECK(fixed.OfCpu(0, 506, 50, /*mmcr=*/1, /*present=*/2) == 15);
  CHECK(fixed.OfCpu(0, 600, 60, /*mmcr=*/1) == 110);
}

}  // namespace
}  // namespace countrace::rmap
