// Which sessions a process joins.
#include "runtime/inprocess/process/session_limits.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <random>

#include "tests/support/property_runs.h"

namespace countrace::runtime {
namespace {

using logformat::SessionControl;

std::unique_ptr<SessionControl> Sound() {
  auto session = std::make_unique<SessionControl>();
  session->magic = logformat::kSessionMagic;
  session->version = logformat::kSessionVersion;
  session->bytes = sizeof(SessionControl);
  session->recorder_pid = 1;
  session->sub_buffer_bytes = 1 << 20;
  session->sub_buffers = 8;
  session->thread_event_count = 10;
  session->thread_set_count = 2;
  session->thread_set_sizes[0] = 4;
  session->thread_set_sizes[1] = 3;
  session->dump_rule_count = 1;
  return session;
}

TEST_CASE("session limits: a recorder's session is joined", "[runtime]") {
  CHECK(IsWithinLimits(*Sound()));
}

TEST_CASE("session limits: no other is joined", "[runtime]") {
  const auto refused = [](auto&& change) {
    const auto session = Sound();
    change(*session);
    CHECK_FALSE(IsWithinLimits(*session));
  };
  refused([](SessionControl& s) { s.magic = 0; });
  refused([](SessionControl& s) { ++s.version; });
  refused([](SessionControl& s) { --s.bytes; });
  refused([](SessionControl& s) { s.recorder_pid = -1; });
  refused([](SessionControl& s) { s.mode = logformat::SessionMode{3}; });
  refused([](SessionControl& s) { s.sub_buffer_bytes = 0; });
  refused([](SessionControl& s) { s.sub_buffer_bytes = 4097; });
  refused([](SessionControl& s) { s.sub_buffer_bytes = 1ull << 40; });
  refused([](SessionControl& s) { s.sub_buffers = ~0u; });
  refused([](SessionControl& s) { s.thread_event_count = 25; });
  refused([](SessionControl& s) { s.thread_event_count = 6; });
  refused([](SessionControl& s) { s.thread_event_count = 24; });
  refused([](SessionControl& s) { s.thread_set_count = 9; });
  refused([](SessionControl& s) { s.thread_set_sizes[1] = ~0u; });
  refused([](SessionControl& s) { s.dump_rule_count = 17; });
  refused([](SessionControl& s) { s.dump_rules[0].predicate_count = 5; });
  refused([](SessionControl& s) {
    s.dump_rules[0].predicate_count = 1;
    s.dump_rules[0].predicates[0].text_bytes = 33;
  });
  refused([](SessionControl& s) {
    std::memset(s.hook_filter, 'x', sizeof(s.hook_filter));
  });
  refused([](SessionControl& s) {
    std::memset(s.dump_rules[0].glob, 'x', sizeof(s.dump_rules[0].glob));
  });
}

// Whatever is accepted can be used as an index.
TEST_CASE("session limits: random values lead outside of no array",
          "[runtime]") {
  std::mt19937 random(3);
  const int runs = test_support::PropertyRuns(20000);
  int accepted = 0;
  for (int run = 0; run < runs; ++run) {
    const auto session = Sound();
    constexpr std::uint32_t kValues[] = {0, 1, 2, 4, 8, 15, 16, 17, 24, ~0u};
    const auto any = [&] { return kValues[random() % 10]; };
    session->thread_event_count = any();
    session->thread_set_count = any();
    for (std::uint32_t& size : session->thread_set_sizes) size = any();
    if (!IsWithinLimits(*session)) continue;
    ++accepted;
    std::uint32_t in_sets = 0;
    for (std::uint32_t i = 0; i < session->thread_set_count; ++i) {
      in_sets += session->thread_set_sizes[i];
    }
    REQUIRE(session->thread_set_count <= logformat::kSessionEventSets);
    REQUIRE(in_sets <= session->thread_event_count);
    REQUIRE(session->thread_event_count <= logformat::kSessionEvents);
    REQUIRE(logformat::ThreadDumpValues(*session) <= logformat::kMaxCounters);
  }
  CHECK(accepted > 0);
}

}  // namespace
}  // namespace countrace::runtime
