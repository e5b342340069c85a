// Our options in LTTng's terms.
#include "runtime/recorder/lttng/lttng_rules.h"

#include <catch2/catch.hpp>
#include <string>

namespace countrace::runtime {
namespace {

bool Mentions(const absl::Status& status, const std::string& word) {
  return std::string(status.message()).find(word) != std::string::npos;
}

TEST_CASE("lttng: globs become a filter on names") {
  CHECK(LttngFilter("")->empty());
  CHECK(*LttngFilter("a:*") == "name == \"a:*\"");
  CHECK(*LttngFilter("a:*,,b:c") == "name == \"a:*\" || name == \"b:c\"");
  for (const char* glob : {"a:?", "a:[bc]", "a:\\*", "a\"b"}) {
    const auto filter = LttngFilter(glob);
    CAPTURE(glob);
    REQUIRE(!filter.ok());
    CHECK(Mentions(filter.status(), glob));
  }
}

TEST_CASE("lttng: events become contexts, if they can be counted") {
  CHECK(*LttngContext("task-clock") == "perf:thread:task-clock");
  CHECK(*LttngContext("page-faults") == "perf:thread:page-fault");
  const auto unknown = LttngContext("nonsense");
  REQUIRE(!unknown.ok());
  CHECK(Mentions(unknown.status(), "nonsense"));
  const auto tracepoint = LttngContext("sched:sched_switch");
  CHECK(!tracepoint.ok());
  // Counted, or rejected with the reason: LTTng gets no unusable request.
  const auto cycles = LttngContext("cycles");
  if (cycles.ok()) {
    CHECK(*cycles == "perf:thread:cycles");
  } else {
    CHECK(Mentions(cycles.status(), "record nothing at all"));
  }
}

TEST_CASE("lttng: sizes become powers of two") {
  CHECK(NextPowerOfTwo(0, 4096) == 4096);
  CHECK(NextPowerOfTwo(4096, 4096) == 4096);
  CHECK(NextPowerOfTwo(4097, 4096) == 8192);
  CHECK(NextPowerOfTwo(3, 2) == 4);
  CHECK(NextPowerOfTwo(~std::uint64_t{0}, 2) == std::uint64_t{1} << 62);
}

TEST_CASE("lttng: losses of all channels are summed") {
  const LttngLosses losses = ParseLttngLosses(
      "<channel><discarded_events>12</discarded_events><lost_packets>0"
      "</lost_packets></channel><channel><discarded_events>30"
      "</discarded_events><lost_packets>2</lost_packets></channel>");
  CHECK(losses.events == 42);
  CHECK(losses.packets == 2);
  CHECK(ParseLttngLosses("").events == 0);
  // The message of LTTng 2.13.9 for 1,195,148 losses.
  CHECK(ParseLttngLosses(
            "<discarded_events>9223372036855970956</discarded_events>")
            .events == 1'195'148);
}

}  // namespace
}  // namespace countrace::runtime
